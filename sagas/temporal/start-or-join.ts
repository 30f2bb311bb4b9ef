import {
  type Client,
  type Workflow,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { CONTROL_QUEUE } from '../../model/sagas/queues.ts';

type Start<W extends Workflow> = Pick<WorkflowStartOptions<W>, 'staticSummary'> & {
  /** Of what is worked on, so that one task at a time works on it. */
  workflowId: string;
  args: Parameters<W>;
  /** Says which task it is, as {@link memoKey} in the memo. */
  task: string;
  memoKey: string;
  apiKeyId: string;
};

/**
 * Starts a task, or joins the same task when that runs; returns when Temporal has it.
 * @returns whether it runs since now; `other`: what another task that is in its way says of itself
 */
export async function startOrJoin<W extends Workflow>(
  client: Client,
  type: string,
  { workflowId, args, task, memoKey, apiKeyId, staticSummary }: Start<W>,
): Promise<{ isNew: boolean; other: { running: unknown; cause: unknown } | null }> {
  try {
    await client.workflow.start<Workflow>(type, {
      workflowId,
      taskQueue: CONTROL_QUEUE,
      args,
      memo: { [memoKey]: task },
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      ...(staticSummary !== undefined && { staticSummary }),
      staticDetails: `Asked for by API key ${apiKeyId}`,
    });
    return { isNew: true, other: null };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    const { memo } = await client.workflow.getHandle(workflowId).describe();
    const running = memo?.[memoKey];
    return { isNew: false, other: running === task ? null : { running, cause: error } };
  }
}
