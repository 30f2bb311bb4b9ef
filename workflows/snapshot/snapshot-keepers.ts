import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  type ChildWorkflowHandle,
  getExternalWorkflowHandle,
  log,
  type ParentClosePolicy,
  startChild,
} from '@temporalio/workflow';
import {
  EPHEMERAL_SNAPSHOT_WORKFLOW,
  type EphemeralSnapshotInput,
  ephemeralSnapshotWorkflowIdOf,
  RELEASED,
} from '../../model/snapshots/snapshot-saga.ts';
import type { ephemeralSnapshot } from './ephemeral-snapshot.ts';

/** Workflows that take ephemeral snapshots away, each begun before its snapshot is taken. */
export class SnapshotKeepers {
  readonly #keepers = new Map<string, ChildWorkflowHandle<typeof ephemeralSnapshot>>();

  constructor(private readonly parentClosePolicy: ParentClosePolicy) {}

  /** @returns false where one is there already: the workflow that needs it was lost, or reset */
  async keep(input: EphemeralSnapshotInput, staticSummary: string): Promise<boolean> {
    const { snapshotId } = input;
    const start = () =>
      startChild<typeof ephemeralSnapshot>(EPHEMERAL_SNAPSHOT_WORKFLOW, {
        workflowId: ephemeralSnapshotWorkflowIdOf(snapshotId),
        args: [input],
        parentClosePolicy: this.parentClosePolicy,
        staticSummary,
      });
    try {
      this.#keepers.set(snapshotId, await CancellationScope.nonCancellable(start));
      return true;
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
      throw error;
    }
  }

  /** Returns when the snapshot is gone; the keeper of an earlier run is only signalled. */
  async release(snapshotId: string): Promise<void> {
    const id = ephemeralSnapshotWorkflowIdOf(snapshotId);
    const keeper = this.#keepers.get(snapshotId);
    try {
      await (keeper ?? getExternalWorkflowHandle(id)).signal<[]>(RELEASED);
      await keeper?.result();
    } catch (error) {
      log.info('an ephemeral snapshot was removed before', { id, why: String(error) });
    }
  }
}
