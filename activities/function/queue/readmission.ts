import type { ConcurrencyRule } from '../../../model/functions/function.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import type { Store } from '../../../store/connect.ts';
import type { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { cancelSuperseded, supersedingOf } from './superseded.ts';

interface Deps {
  store: Pick<Store, 'runs' | 'runQueue' | 'waitingRuns'>;
  reconciliation: Pick<ControlTemporalClient, 'functions'>;
}

/** Result of a readmission: see admission.ts. */
type Readmitted = { is: 'admitted' } | { is: 'key' | 'all'; notBefore: null };

/**
 * Reacquires the slots that a run released while its machine was hibernated. A started run waits for them regardless of
 * `onFull`; with `cancel-running`, it is cancelled once enough newer runs exist.
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
