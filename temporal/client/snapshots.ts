import { markReadable } from '../../model/sagas/readable.ts';
import {
  DELETE_SNAPSHOT_WORKFLOW,
  type DeleteSnapshotInput,
  EPHEMERAL_SNAPSHOT_WORKFLOW,
  type EphemeralSnapshotInput,
  ephemeralSnapshotWorkflowIdOf,
  RELEASED,
  snapshotWorkflowId,
} from '../../model/snapshots/snapshot-saga.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

/** Starts the workflows that delete snapshots. */
export class SnapshotWorkflows extends WorkflowClient {
  /** Starts the deletion of a snapshot, or joins it. Resolves when Temporal has it. */
  async delete(input: DeleteSnapshotInput): Promise<void> {
    await this.startUnlessRunning(DELETE_SNAPSHOT_WORKFLOW, {
      workflowId: snapshotWorkflowId(input.snapshotId),
      args: [input],
      staticSummary: markReadable(`delete ${input.snapshotId} on ${input.hostId}`),
      staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
    });
  }

  /** Resolves when the deletion has ended. @throws the signal's reason when it fires first */
  async deleted(snapshotId: string, signal: AbortSignal): Promise<void> {
    await this.result(snapshotWorkflowId(snapshotId), signal);
  }

  /**
   * Guarantees that a snapshot is deleted: after {@link releaseEphemeral}, or else after a maximum lifetime. To be
   * called before the snapshot is started. Resolves when Temporal has it.
   */
  async startEphemeral(input: EphemeralSnapshotInput): Promise<void> {
    await this.start(EPHEMERAL_SNAPSHOT_WORKFLOW, {
      workflowId: ephemeralSnapshotWorkflowIdOf(input.snapshotId),
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: markReadable(`${input.snapshotId} on ${input.hostId}, for a comparison`),
      staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
    });
  }

  /** Releases a snapshot that is not needed, or was never started. Resolves when Temporal has it. */
  async releaseEphemeral(snapshotId: string): Promise<void> {
    await this.signal(ephemeralSnapshotWorkflowIdOf(snapshotId), RELEASED);
  }
}
