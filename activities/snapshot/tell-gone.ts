import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { Store } from '../../store/connect.ts';

/** Writes into the run that a snapshot was kept of that it is there no more, if so. */
export async function tellGone({ runs }: Pick<Store, 'runs'>, snapshot: SnapshotRecord): Promise<void> {
  const { id, keptOf, state } = snapshot;
  if (!keptOf || state === 'creating' || state === 'ready') return;
  const kept = (await runs.get(keptOf.runId))?.kept;
  if (kept?.snapshotId !== id || kept.goneAt !== null) return;
  await runs.change(keptOf.runId, ['ended'], { kept: { ...kept, goneAt: new Date().toISOString() } });
}
