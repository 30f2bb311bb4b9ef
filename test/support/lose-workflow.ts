import { type Client, isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { eventually } from './eventually.ts';

/** Limits of a Temporal server that forgets a deleted workflow within seconds, where it takes half a minute by itself. */
export const FORGETS_AT_ONCE = { 'history.transferProcessorUpdateAckInterval': '1s' };

/** gRPC's NOT_FOUND. */
const NOT_FOUND = 5;

/** Loses a workflow as a lost database does: resolves when Temporal neither knows it nor lists it. */
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
  await eventually(
    () => workflow.getHandle(workflowId).describe().catch(unlessForgotten),
    (seen) => seen === null,
  );
  await eventually(
    () => workflow.count(`WorkflowId = "${workflowId}"`),
    ({ count }) => count === 0,
  );
}
