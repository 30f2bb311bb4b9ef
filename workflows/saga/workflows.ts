import { type SignalDefinition, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  type ChildWorkflowHandle,
  type ChildWorkflowOptions,
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  startChild,
  type WithWorkflowArgs,
  type Workflow,
} from '@temporalio/workflow';

/** Signals a workflow, shielded from cancellation. @returns false when no such workflow runs */
export async function trySignal<Args extends unknown[]>(
  workflowId: string,
  signal: SignalDefinition<Args> | string,
  ...args: Args
): Promise<boolean> {
  const send = () => getExternalWorkflowHandle(workflowId).signal<Args>(signal, ...args);
  try {
    await CancellationScope.nonCancellable(send);
    return true;
  } catch (error) {
    log.debug('no workflow to signal', { workflowId, why: String(error) });
    return false;
  }
}

/** Starts a child that outlives this run, unless told otherwise. @returns null where its workflow id is in use */
export async function startUnlessPresent<T extends Workflow>(
  type: string,
  options: WithWorkflowArgs<T, ChildWorkflowOptions>,
): Promise<ChildWorkflowHandle<T> | null> {
  try {
    return await startChild<T>(type, { parentClosePolicy: ParentClosePolicy.ABANDON, ...options });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return null;
    throw error;
  }
}
