import { LIVING_STATES } from '../model/sandbox/sandbox-state.ts';
import { type StoredPart, UNMEASURED_BYTES } from '../model/snapshots/storage.ts';
import type { Store } from './connect.ts';

/**
 * All that takes room on hosts and counts in a quota: workspaces of sandboxes that are placed, as last measured, and
 * snapshots that are not deleted, as they were when they were saved. Reads the living sandboxes and the snapshots.
 * @param placed sandboxes that are about to get a host, which their records do not say yet
 */
export async function storedParts(
  { sandboxes, snapshots, measuredDisks }: Pick<Store, 'sandboxes' | 'snapshots' | 'measuredDisks'>,
  placed: (sandboxId: string) => boolean = () => false,
): Promise<StoredPart[]> {
  const [alive, kept, disks] = await Promise.all([
    sandboxes.all(LIVING_STATES),
    snapshots.kept(),
    measuredDisks.list(),
  ]);
  const measured = new Map(
    disks.flatMap(({ measuredAt, sandboxes: all }) => all.map(({ id, bytes }) => [id, { bytes, measuredAt }] as const)),
  );
  const workspaces = alive
    .filter(({ id, hostId }) => hostId !== null || placed(id))
    .map(({ id, project, hostId, createdBy }): StoredPart => {
      const { bytes, measuredAt } = measured.get(id) ?? { bytes: UNMEASURED_BYTES, measuredAt: null };
      return { kind: 'workspace', id, project, sandboxId: id, hostId, apiKeyId: createdBy.apiKeyId, bytes, measuredAt };
    });
  return [...workspaces, ...kept];
}
