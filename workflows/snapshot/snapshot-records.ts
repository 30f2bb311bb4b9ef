import { CancellationScope } from '@temporalio/workflow';
import type { SnapshotRemembrance } from '../../activities/snapshot/snapshot-record.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { controlByQueue, controlUntilDone } from '../saga/control.ts';

/** Records of snapshots. Writes are shielded from cancellation. */
export const snapshotRecords = {
  /** @throws ApplicationFailure snapshot_name_taken */
  begin: (record: SnapshotRecord): Promise<SnapshotRecord> =>
    CancellationScope.nonCancellable(() => controlByQueue.recordSnapshot({ record })),
  change: (snapshotId: string, changes: SnapshotRemembrance['changes']): Promise<SnapshotRecord> =>
    CancellationScope.nonCancellable(() => controlUntilDone.rememberSnapshot({ snapshotId, changes })),
  /** @throws ApplicationFailure snapshot_not_found */
  recall: (snapshotId: string): Promise<SnapshotRecord> => controlUntilDone.recallSnapshot({ snapshotId }),
  /** @throws ApplicationFailure snapshot_not_found, snapshot_not_ready */
  checkRestorable: (snapshotId: string, sandboxId: string): Promise<void> =>
    controlByQueue.restorable({ snapshotId, sandboxId }),
  unfinished: (sandboxId: string): Promise<SnapshotRecord[]> => controlUntilDone.unfinishedSnapshots({ sandboxId }),
};
