import type { ConcurrencyRule } from '../../../model/functions/function.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import type { Store } from '../../../store/connect.ts';
import type { Reconciliation } from '../../../temporal/reconciliation.ts';
import { cancelSuperseded, supersedingOf } from './superseded.ts';

interface Deps {
  store: Pick<Store, 'runs' | 'runQueue' | 'waitingRuns'>;
  reconciliation: Pick<Reconciliation, 'functions'>;
}

/** What became of one that was looked at: see admission.ts. */
type Readmitted = { is: 'admitted' } | { is: 'key' | 'all'; notBefore: null };

/**
 * Gives a run slots again that has given them back while its machine was hibernated. It has begun, so it waits for them whatever its
 * rules say of what is new; where only the newest go on, it is cancelled as soon as there are enough of those.
 */
export async function readmitted(
  { store, reconciliation }: Deps,
  run: RunRecord,
  concurrency: readonly ConcurrencyRule[],
  now: Date,
): Promise<Readmitted> {
  const { by = null, cancelled = [] } = (await supersedingOf(store, run, concurrency)) ?? {};
  const ended = by === null ? cancelled.map(({ id }) => ({ id, by: run.id })) : [{ id: run.id, by }];
  const cancelledBy = run.createdBy;
  for (const each of ended) {
    await cancelSuperseded({ store, reconciliation }, each.id, { by: each.by, cancelledBy, now });
  }
  if (by !== null) return { is: 'key', notBefore: null };
  const full = await store.waitingRuns.readmit(run, { concurrency: [...concurrency] }, now.toISOString());
  if (full) return { is: full.isOfAll ? 'all' : 'key', notBefore: null };
  await reconciliation.functions.lookAtWaits(run.id);
  return { is: 'admitted' };
}
