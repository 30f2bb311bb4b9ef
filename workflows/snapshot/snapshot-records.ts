import { CancellationScope } from '@temporalio/workflow';
import type { SnapshotChange } from '../../activities/snapshot/snapshot-record.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { controlUntilDone, queuedControlUntilDone } from '../saga/control.ts';

/** Records of snapshots. Writes are shielded from cancellation. */
export const snapshotRecords = {
  /** @throws ApplicationFailure snapshot_name_taken */
  begin: (record: SnapshotRecord): Promise<SnapshotRecord> =>
    CancellationScope.nonCancellable(() => queuedControlUntilDone.recordSnapshot({ record })),
  change: (snapshotId: string, changes: SnapshotChange['changes']): Promise<SnapshotRecord> =>
    CancellationScope.nonCancellable(() => controlUntilDone.rememberSnapshot({ snapshotId, changes })),
  /** @throws ApplicationFailure snapshot_not_found */
  recall: (snapshotId: string): Promise<SnapshotRecord> => controlUntilDone.recallSnapshot({ snapshotId }),
  /** @throws ApplicationFailure snapshot_not_found, snapshot_not_ready */
  checkRestorable: (snapshotId: string, sandboxId: string): Promise<void> =>
    queuedControlUntilDone.restorable({ snapshotId, sandboxId }),
  unfinished: (sandboxId: string): Promise<SnapshotRecord[]> => controlUntilDone.unfinishedSnapshots({ sandboxId }),
};
