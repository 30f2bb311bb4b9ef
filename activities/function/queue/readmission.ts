import type { ConcurrencyRule } from '../../../model/functions/function.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import { superseding } from '../../../model/functions/superseding.ts';
import type { Reconciliation } from '../../../sagas/reconciliation.ts';
import type { Store } from '../../../store/connect.ts';

interface Deps {
  store: Pick<Store, 'runs' | 'runQueue' | 'waitingRuns'>;
  reconciliation: Pick<Reconciliation, 'cancelRun' | 'lookAtWaits'>;
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
  const n = concurrency.findIndex(({ onFull }) => onFull === 'cancel-running');
  const limit = concurrency[n]?.limit;
  if (limit !== undefined) {
    const [behind, holders] = await Promise.all([store.runQueue.behind(run, limit), store.runQueue.holders(run, n)]);
    const { by, cancelled } = superseding(run, { limit, behind, holders });
    const ended = by === null ? cancelled.map(({ id }) => ({ id, by: run.id })) : [{ id: run.id, by }];
    for (const each of ended) {
      const wish = { cancelledBy: run.createdBy, updatedAt: now.toISOString(), supersededBy: each.by };
      if (!(await store.runs.wishCancel(each.id, wish))) continue;
      await reconciliation.cancelRun(each.id, run.createdBy);
      await store.runs.cancelTold(each.id);
    }
    if (by !== null) return { is: 'key', notBefore: null };
  }
  const full = await store.waitingRuns.readmit(run, { concurrency: [...concurrency] }, now.toISOString());
  if (full) return { is: full.isOfAll ? 'all' : 'key', notBefore: null };
  await reconciliation.lookAtWaits(run.id);
  return { is: 'admitted' };
}
