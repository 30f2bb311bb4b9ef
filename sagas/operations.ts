import type { Client } from '@temporalio/client';
import { MayflyError } from '../model/errors.ts';
import { OPERATE, OPERATED, type Operation, type OperationReport } from '../model/sagas/messages.ts';
import { CONTROL_QUEUE, workflowIdOf } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import {
  DELETE_SNAPSHOT_WORKFLOW,
  type DeleteSnapshotInput,
  EPHEMERAL_SNAPSHOT_WORKFLOW,
  type EphemeralSnapshotInput,
  ephemeralSnapshotWorkflowIdOf,
  RELEASED,
  type SnapshotRecord,
  snapshotWorkflowIdOf,
} from '../model/snapshots/snapshot.ts';
import { ask } from './temporal/ask.ts';
import { isGone } from './temporal/failure.ts';

type EphemeralSnapshotWorkflow = (input: EphemeralSnapshotInput) => Promise<void>;
type DeleteSnapshotWorkflow = (input: DeleteSnapshotInput) => Promise<SnapshotRecord>;

/** Has the sandbox's own workflow begin an operation; the same id again joins the one that is there. @throws MayflyError sandbox_ended */
export async function operate(client: Client, sandboxId: string, operation: Operation): Promise<void> {
  try {
    const { operationId: updateId } = operation;
    await ask<OperationReport>(client, workflowIdOf(sandboxId), OPERATE, { args: [operation], updateId });
  } catch (error) {
    if (!isGone(error)) throw error;
    throw new MayflyError('sandbox_ended', `The saga of ${sandboxId} has ended.`, { cause: error });
  }
}

/** Resolves when the operation has ended, whether or not it failed. */
export function operated(client: Client, sandboxId: string, operationId: string): Promise<OperationReport> {
  const updateId = `${OPERATED}/${operationId}`;
  return ask(client, workflowIdOf(sandboxId), OPERATED, { args: [operationId], updateId });
}

/** Returns when Temporal has it; joins the deletion that runs already. */
export async function deleteSnapshot(client: Client, input: DeleteSnapshotInput): Promise<void> {
  await client.workflow.start<DeleteSnapshotWorkflow>(DELETE_SNAPSHOT_WORKFLOW, {
    workflowId: snapshotWorkflowIdOf(input.snapshotId),
    taskQueue: CONTROL_QUEUE,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    staticSummary: readable(`delete ${input.snapshotId} on ${input.hostId}`),
    staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
  });
}

/** Resolves when the deletion has ended. */
export function snapshotDeleted(client: Client, snapshotId: string): Promise<SnapshotRecord> {
  return client.workflow.getHandle<DeleteSnapshotWorkflow>(snapshotWorkflowIdOf(snapshotId)).result();
}

/** Returns when Temporal has it. */
export async function startEphemeral(client: Client, input: EphemeralSnapshotInput): Promise<void> {
  await client.workflow.start<EphemeralSnapshotWorkflow>(EPHEMERAL_SNAPSHOT_WORKFLOW, {
    workflowId: ephemeralSnapshotWorkflowIdOf(input.snapshotId),
    taskQueue: CONTROL_QUEUE,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: readable(`${input.snapshotId} on ${input.hostId}, for a comparison`),
    staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
  });
}

/** Returns when Temporal has it. */
export async function releaseEphemeral(client: Client, snapshotId: string): Promise<void> {
  await client.workflow.getHandle(ephemeralSnapshotWorkflowIdOf(snapshotId)).signal<[]>(RELEASED);
}
