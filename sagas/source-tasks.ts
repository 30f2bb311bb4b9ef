import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { MayflyError } from '../model/errors.ts';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import {
  SOURCE_TASK_MEMO,
  SOURCE_WORKFLOW,
  type SourceInput,
  sourceWorkflowIdOf,
} from '../model/snapshots/source-access.ts';

type SourceWorkflow = (input: SourceInput) => Promise<void>;

/** Returns when Temporal has it; joins the same task when that runs. @throws MayflyError too_many_requests */
export async function startSourceTask(client: Client, input: SourceInput): Promise<void> {
  const { hostId, name, task, actor } = input;
  const workflowId = sourceWorkflowIdOf(hostId, name);
  try {
    await client.workflow.start<SourceWorkflow>(SOURCE_WORKFLOW, {
      workflowId,
      taskQueue: CONTROL_QUEUE,
      args: [input],
      memo: { [SOURCE_TASK_MEMO]: task },
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: `${task} ${name} on ${hostId}`,
      staticDetails: `Asked for by API key ${actor.apiKeyId}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    const { memo } = await client.workflow.getHandle(workflowId).describe();
    if (memo?.[SOURCE_TASK_MEMO] === task) return;
    const other = task === 'prepare' ? 'unprepared' : 'prepared';
    throw new MayflyError('too_many_requests', `${JSON.stringify(name)} is being ${other} at this moment.`, {
      cause: error,
      retryAfterSeconds: 5,
    });
  }
}

/** Resolves when no task runs on the source. */
export function sourceTaskEnded(client: Client, { hostId, name }: { hostId: string; name: string }): Promise<unknown> {
  return client.workflow.getHandle(sourceWorkflowIdOf(hostId, name)).result();
}
