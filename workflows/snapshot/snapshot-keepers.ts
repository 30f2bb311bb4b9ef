import type { ChildWorkflowHandle, ParentClosePolicy } from '@temporalio/workflow';
import {
  EPHEMERAL_SNAPSHOT_WORKFLOW,
  type EphemeralSnapshotInput,
  ephemeralSnapshotWorkflowIdOf,
  RELEASED,
} from '../../model/snapshots/snapshot-saga.ts';
import { startUnlessPresent, trySignal } from '../saga/subscription.ts';
import type { ephemeralSnapshot } from './ephemeral-snapshot.ts';

/** Workflows that delete ephemeral snapshots, each started before its snapshot is taken. */
export class SnapshotReapers {
  readonly #keepers = new Map<string, ChildWorkflowHandle<typeof ephemeralSnapshot>>();

  constructor(private readonly parentClosePolicy: ParentClosePolicy) {}

  /** Starts the workflow. @returns false when it runs already: the workflow that needs it was lost, or reset */
  async keep(input: EphemeralSnapshotInput, staticSummary: string): Promise<boolean> {
    const { snapshotId } = input;
    const keeper = await startUnlessPresent<typeof ephemeralSnapshot>(EPHEMERAL_SNAPSHOT_WORKFLOW, {
      workflowId: ephemeralSnapshotWorkflowIdOf(snapshotId),
      args: [input],
      parentClosePolicy: this.parentClosePolicy,
      staticSummary,
    });
    if (keeper) this.#keepers.set(snapshotId, keeper);
    return keeper !== null;
  }

  /** Returns when the snapshot is deleted; the workflow of an earlier run is only signaled. */
  async release(snapshotId: string): Promise<void> {
    await trySignal(ephemeralSnapshotWorkflowIdOf(snapshotId), RELEASED);
    await this.#keepers
      .get(snapshotId)
      ?.result()
      .catch(() => undefined); // terminated: its snapshot is residue
  }
}
