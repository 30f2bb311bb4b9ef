import { CancellationScope, proxyLocalActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../activities/control.ts';
import type { SnapshotRemembrance } from '../activities/snapshot-record.ts';
import type { SnapshotRecord } from '../model/snapshot.ts';

const store = proxyLocalActivities<ControlActivities>({
  startToCloseTimeout: '20s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
});

/** What is known of snapshots. What happened is written down also when the sandbox is being cancelled. */
export const snapshotRecords = {
  /** @throws ApplicationFailure snapshot_name_taken */
  begin: (record: SnapshotRecord): Promise<SnapshotRecord> =>
    CancellationScope.nonCancellable(() => store.recordSnapshot({ record })),
  change: (snapshotId: string, changes: SnapshotRemembrance['changes']): Promise<SnapshotRecord> =>
    CancellationScope.nonCancellable(() => store.rememberSnapshot({ snapshotId, changes })),
  /** @throws ApplicationFailure snapshot_not_found */
  recall: (snapshotId: string): Promise<SnapshotRecord> => store.recallSnapshot({ snapshotId }),
  /** @throws ApplicationFailure snapshot_not_found, snapshot_not_ready */
  checkRestorable: (snapshotId: string, sandboxId: string): Promise<void> =>
    store.restorable({ snapshotId, sandboxId }),
  unfinished: (sandboxId: string): Promise<SnapshotRecord[]> => store.unfinishedSnapshots({ sandboxId }),
};
