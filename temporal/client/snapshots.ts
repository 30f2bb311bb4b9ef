import { readable } from '../../model/sagas/readable.ts';
import {
  DELETE_SNAPSHOT_WORKFLOW,
  type DeleteSnapshotInput,
  EPHEMERAL_SNAPSHOT_WORKFLOW,
  type EphemeralSnapshotInput,
  ephemeralSnapshotWorkflowIdOf,
  RELEASED,
  snapshotWorkflowIdOf,
} from '../../model/snapshots/snapshot-saga.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

/** Starts the workflows that delete snapshots. */
export class SnapshotWorkflows extends WorkflowClient {
  /** Resolves when Temporal has it; joins the deletion that runs already. */
  async delete(input: DeleteSnapshotInput): Promise<void> {
    await this.startUnlessRunning(DELETE_SNAPSHOT_WORKFLOW, {
      workflowId: snapshotWorkflowIdOf(input.snapshotId),
      args: [input],
      staticSummary: readable(`delete ${input.snapshotId} on ${input.hostId}`),
      staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
    });
  }

  /** Resolves when the deletion has ended. @throws the signal's reason when it fires first */
  async deleted(snapshotId: string, signal: AbortSignal): Promise<void> {
    await this.result(snapshotWorkflowIdOf(snapshotId), signal);
  }

  /**
   * Sees to it that a snapshot goes away: when {@link releaseEphemeral} says so, else by itself. To be called before the
   * snapshot is begun. Resolves when Temporal has it.
   */
  async startEphemeral(input: EphemeralSnapshotInput): Promise<void> {
    await this.start(EPHEMERAL_SNAPSHOT_WORKFLOW, {
      workflowId: ephemeralSnapshotWorkflowIdOf(input.snapshotId),
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: readable(`${input.snapshotId} on ${input.hostId}, for a comparison`),
      staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
    });
  }

  /** The snapshot is needed no longer, or was never begun. Resolves when Temporal has it. */
  async releaseEphemeral(snapshotId: string): Promise<void> {
    await this.signal(ephemeralSnapshotWorkflowIdOf(snapshotId), RELEASED);
  }
}
