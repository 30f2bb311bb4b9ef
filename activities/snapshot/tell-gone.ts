import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { Store } from '../../store/connect.ts';

/** Records in a run that its retained snapshot has been deleted or has failed. */
export async function recordRetainedGone({ runs }: Pick<Store, 'runs'>, snapshot: SnapshotRecord): Promise<void> {
  const { id, keptOf, state } = snapshot;
  if (!keptOf || state === 'creating' || state === 'ready') return;
  const kept = (await runs.get(keptOf.runId))?.kept;
  if (kept?.snapshotId !== id || kept.goneAt !== null) return;
  await runs.change(keptOf.runId, ['ended'], { kept: { ...kept, goneAt: new Date().toISOString() } });
}
