import type { ConcurrencyRule } from '../../../model/functions/function.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import { decideSuperseding, type Superseding } from '../../../model/functions/superseding.ts';
import type { Store } from '../../../store/connect.ts';
import type { ControlTemporalClient } from '../../../temporal/reconciliation.ts';

/** Returns which runs of a key are superseded under `cancel-running`; null: no such rule. */
export async function supersedingOf(
  { runQueue }: Pick<Store, 'runQueue'>,
  run: RunRecord,
  concurrency: readonly ConcurrencyRule[],
): Promise<Superseding | null> {
  const n = concurrency.findIndex(({ onFull }) => onFull === 'cancel-running');
  const limit = concurrency[n]?.limit;
  if (limit === undefined) return null;
  const [behind, holders] = await Promise.all([runQueue.behind(run, limit), runQueue.holders(run, n)]);
  return decideSuperseding(run, { limit, behind, holders });
}

/** Cancels a run superseded by a newer one. Its slot is free after its cleanup. */
export async function cancelSuperseded(
  { store, reconciliation }: { store: Pick<Store, 'runs'>; reconciliation: Pick<ControlTemporalClient, 'functions'> },
  id: string,
  { by, cancelledBy, now }: { by: string; cancelledBy: RunRecord['createdBy']; now: Date },
): Promise<void> {
  if (!(await store.runs.wishCancel(id, { cancelledBy, updatedAt: now.toISOString(), supersededBy: by }))) return;
  await reconciliation.functions.cancelRun(id, cancelledBy);
  await store.runs.cancelTold(id);
}
