import { allocatedIn } from '../../disk/host-disk.ts';
import type { StateDir } from '../../state-dir.ts';
import { unlessUnreadable } from './references.ts';
import { snapshotFolders } from './snapshot-folder.ts';
import { Workspace, workspaceIds } from './workspace.ts';

/**
 * Returns the bytes of deleted snapshots that are still referenced, by the sandbox charged with them. Each counts once:
 * for its original sandbox if that refers to it or if only snapshots do, else for another referrer. Snapshots needed
 * only by snapshots of ended sandboxes count for none. Opens one file for each snapshot, and, where one is deleted and
 * kept, one for each sandbox.
 */
export async function measureRetainedBytes(state: StateDir): Promise<Map<string, number>> {
  const held = new Map<string, number>();
  const deleted = [];
  for (const folder of await snapshotFolders(state)) if (await folder.isRemoved()) deleted.push(folder);
  if (deleted.length === 0) return held;
  const referredTo = new Map<string, readonly string[]>();
  for (const id of await workspaceIds(state)) {
    const spec = await unlessUnreadable(() => new Workspace(state, id).spec(), null);
    referredTo.set(id, spec?.snapshots ?? []);
  }
  for (const folder of deleted) {
    const origin = (await unlessUnreadable(() => folder.spec(), null))?.sandboxId ?? '';
    const referrers = [...referredTo]
      .filter(([, snapshots]) => snapshots.includes(folder.snapshotId))
      .map(([id]) => id);
    const [first = origin] = referrers.includes(origin) ? [origin] : referrers.toSorted();
    if (referredTo.has(first)) held.set(first, (held.get(first) ?? 0) + (await allocatedIn(folder.path)));
  }
  return held;
}
