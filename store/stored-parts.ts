import { OPEN_STATES } from '../model/sandbox/sandbox-state.ts';
import { type StorageUsage, UNMEASURED_BYTES } from '../model/snapshots/storage.ts';
import type { Store } from './connect.ts';

/**
 * Lists everything on hosts that counts in a quota: workspaces of placed sandboxes, as last measured, and undeleted
 * snapshots, as they were when saved. Reads the living sandboxes and the snapshots.
 * @param placed reports whether a sandbox is about to get a host that its record does not name yet
 */
export async function listStorageUse(
  { sandboxes, snapshots, measuredDisks }: Pick<Store, 'sandboxes' | 'snapshots' | 'measuredDisks'>,
  placed: (sandboxId: string) => boolean = () => false,
): Promise<StorageUsage[]> {
  const [alive, kept, disks] = await Promise.all([sandboxes.all(OPEN_STATES), snapshots.kept(), measuredDisks.list()]);
  const measured = new Map(
    disks.flatMap(({ measuredAt, sandboxes: all }) => all.map(({ id, bytes }) => [id, { bytes, measuredAt }] as const)),
  );
  const workspaces = alive
    .filter(({ id, hostId }) => hostId !== null || placed(id))
    .map(({ id, project, hostId, createdBy }): StorageUsage => {
      const { bytes, measuredAt } = measured.get(id) ?? { bytes: UNMEASURED_BYTES, measuredAt: null };
      return { kind: 'workspace', id, project, sandboxId: id, hostId, apiKeyId: createdBy.apiKeyId, bytes, measuredAt };
    });
  return [...workspaces, ...kept];
}
