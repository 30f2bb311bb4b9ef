import { type Workflow, WorkflowExecutionAlreadyStartedError, type WorkflowStartOptions } from '@temporalio/client';
import { CONTROL_QUEUE } from '../../model/sagas/queues.ts';
import { WorkflowClient } from './workflow-client.ts';

interface Start extends Pick<WorkflowStartOptions, 'staticSummary' | 'args'> {
  /** Of what is worked on, so that one task at a time works on it. */
  workflowId: string;
  /** Says which task it is, as {@link memoKey} in the memo. */
  task: string;
  memoKey: string;
  apiKeyId: string;
}

/** Base of the clients whose workflows are one task at a time. */
export abstract class TaskClient extends WorkflowClient {
  /**
   * Starts a task, or joins the same task when that runs; returns when Temporal has it.
   * @returns whether it runs since now; `other`: what another task that is in its way says of itself
   */
  protected async startOrJoin(type: string, { task, memoKey, apiKeyId, ...options }: Start) {
    try {
      await this.client.workflow.start<Workflow>(type, {
        ...options,
        taskQueue: CONTROL_QUEUE,
        memo: { [memoKey]: task },
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        staticDetails: `Asked for by API key ${apiKeyId}`,
      });
      return { isNew: true, other: null };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      const { memo } = await this.handle(options.workflowId).describe();
      const running = memo?.[memoKey];
      return { isNew: false, other: running === task ? null : { running, cause: error } };
    }
  }
}
