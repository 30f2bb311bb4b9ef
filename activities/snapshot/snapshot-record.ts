import { MayflyError } from '../../model/errors.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { Store } from '../../store/connect.ts';
import type { StorageAdmission } from './storage-admission.ts';
import { recordRetainedGone } from './tell-gone.ts';

export interface SnapshotChange {
  snapshotId: string;
  changes: Partial<Omit<SnapshotRecord, 'id' | 'sandboxId' | 'name'>>;
}

/** Activities on the records of snapshots, for the workflows that take and delete them. */
export function createSnapshotRecordActivities({ store, admission }: { store: Store; admission: StorageAdmission }) {
  return {
    /** Creates the record of a snapshot. Idempotent. @throws MayflyError snapshot_name_taken, quota_exceeded */
    async recordSnapshot({ record }: { record: SnapshotRecord }): Promise<SnapshotRecord> {
      return admission.snapshot(record);
    },

    async rememberSnapshot({ snapshotId, changes }: SnapshotChange): Promise<SnapshotRecord> {
      const changed = await store.snapshots.update(snapshotId, changes);
      await recordRetainedGone(store, changed);
      return changed;
    },

    /** @throws MayflyError snapshot_not_found */
    async recallSnapshot({ snapshotId }: { snapshotId: string }): Promise<SnapshotRecord> {
      return knownSnapshot(store, snapshotId);
    },

    /**
     * Checks that a sandbox can be restored to a snapshot: its own, and ready.
     * @throws MayflyError snapshot_not_found, snapshot_not_ready
     */
    async restorable({ snapshotId, sandboxId }: { snapshotId: string; sandboxId: string }): Promise<void> {
      const record = await readySnapshot(store, snapshotId);
      if (record.sandboxId === sandboxId) return;
      const why = `The snapshot ${snapshotId} is of ${record.sandboxId}, not of ${sandboxId}; fork it instead.`;
      throw new MayflyError('snapshot_not_found', why);
    },

    /** Returns the snapshots that a lost workflow has left unfinished. */
    async unfinishedSnapshots({ sandboxId }: { sandboxId: string }): Promise<SnapshotRecord[]> {
      return store.snapshots.creating(sandboxId);
    },
  };
}

/** @throws MayflyError snapshot_not_found, snapshot_not_ready */
export async function readySnapshot(store: Pick<Store, 'snapshots'>, snapshotId: string): Promise<SnapshotRecord> {
  const record = await knownSnapshot(store, snapshotId);
  if (record.state === 'ready') return record;
  throw new MayflyError('snapshot_not_ready', `The snapshot ${snapshotId} is ${record.state}.`);
}

/** @throws MayflyError snapshot_not_found */
async function knownSnapshot(store: Pick<Store, 'snapshots'>, snapshotId: string): Promise<SnapshotRecord> {
  const record = await store.snapshots.get(snapshotId);
  if (!record) throw new MayflyError('snapshot_not_found', `There is no snapshot ${snapshotId}.`);
  return record;
}
