import type { ChildWorkflowHandle, ParentClosePolicy } from '@temporalio/workflow';
import {
  EPHEMERAL_SNAPSHOT_WORKFLOW,
  type EphemeralSnapshotInput,
  ephemeralSnapshotWorkflowIdOf,
  RELEASED,
} from '../../model/snapshots/snapshot-saga.ts';
import { startUnlessPresent, trySignal } from '../saga/subscription.ts';
import type { ephemeralSnapshot } from './ephemeral-snapshot.ts';

/** Workflows that take ephemeral snapshots away, each begun before its snapshot is taken. */
export class SnapshotKeepers {
  readonly #keepers = new Map<string, ChildWorkflowHandle<typeof ephemeralSnapshot>>();

  constructor(private readonly parentClosePolicy: ParentClosePolicy) {}

  /** @returns false where one is there already: the workflow that needs it was lost, or reset */
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

  /** Returns when the snapshot is gone; the keeper of an earlier run is only signalled. */
  async release(snapshotId: string): Promise<void> {
    await trySignal(ephemeralSnapshotWorkflowIdOf(snapshotId), RELEASED);
    await this.#keepers
      .get(snapshotId)
      ?.result()
      .catch(() => undefined); // terminated: its snapshot is residue
  }
}
