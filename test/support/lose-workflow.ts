import { randomBytes } from 'node:crypto';
import { type Client, isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import type { NativeConnection } from '@temporalio/worker';
import { registerSearchAttributes } from '../../worker/servers/temporal.ts';
import { eventually } from './eventually.ts';

/** Limits of a Temporal server that drops a deleted workflow within seconds instead of half a minute. */
export const FORGETS_AT_ONCE = { 'history.transferProcessorUpdateAckInterval': '1s' };

/** gRPC's NOT_FOUND. */
const NOT_FOUND = 5;

/** Deletes a workflow as by a lost database; resolves when Temporal can neither find nor list it. */
export async function loseWorkflow({ workflowService, workflow, options }: Client, workflowId: string): Promise<void> {
  const unlessForgotten = (error: unknown): null => {
    const isForgotten = isGrpcServiceError(error) && error.code === NOT_FOUND;
    if (isForgotten || error instanceof WorkflowNotFoundError) return null;
    throw error;
  };
  const { namespace } = options;
  await workflowService
    .deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } })
    .catch(unlessForgotten);
  await eventually(() => workflow.getHandle(workflowId).describe().catch(unlessForgotten), null);
  await eventually(() => workflow.count(`WorkflowId = "${workflowId}"`), { count: 0 });
}

/** Registers an empty namespace, as after the loss of Temporal's database. @returns its name */
export async function registerEmptyNamespace(connection: NativeConnection): Promise<string> {
  const namespace = `lost-${randomBytes(4).toString('hex')}`;
  const workflowExecutionRetentionPeriod = msToTs('1d');
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
  const register = () => registerSearchAttributes(connection, namespace).then(() => null, String);
  await eventually(register, (failure) => failure === null);
  return namespace;
}
