import { MayflyError } from '../../model/errors.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { Store } from '../../store/connect.ts';
import type { StorageAdmission } from './storage-admission.ts';
import { tellGone } from './tell-gone.ts';

export interface SnapshotRemembrance {
  snapshotId: string;
  changes: Partial<Omit<SnapshotRecord, 'id' | 'sandboxId' | 'name'>>;
}

/** The records of snapshots: what the workflow that takes one, and then the one that deletes it, write. */
export function createSnapshotRecordActivities({ store, admission }: { store: Store; admission: StorageAdmission }) {
  return {
    /** Puts the record of a snapshot that begins into the store. Again, it changes nothing. @throws MayflyError snapshot_name_taken, quota_exceeded */
    async recordSnapshot({ record }: { record: SnapshotRecord }): Promise<SnapshotRecord> {
      return admission.snapshot(record);
    },

    async rememberSnapshot({ snapshotId, changes }: SnapshotRemembrance): Promise<SnapshotRecord> {
      const changed = await store.snapshots.update(snapshotId, changes);
      await tellGone(store, changed);
      return changed;
    },

    /** @throws MayflyError snapshot_not_found */
    async recallSnapshot({ snapshotId }: { snapshotId: string }): Promise<SnapshotRecord> {
      return knownSnapshot(store, snapshotId);
    },

    /**
     * Whether a sandbox can be put back to a snapshot: one of its own, that is whole.
     * @throws MayflyError snapshot_not_found, snapshot_not_ready
     */
    async restorable({ snapshotId, sandboxId }: { snapshotId: string; sandboxId: string }): Promise<void> {
      const record = await readySnapshot(store, snapshotId);
      if (record.sandboxId === sandboxId) return;
      const why = `The snapshot ${snapshotId} is of ${record.sandboxId}, not of ${sandboxId}; fork it instead.`;
      throw new MayflyError('snapshot_not_found', why);
    },

    /** Snapshots that a workflow which is gone has left unfinished. */
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
