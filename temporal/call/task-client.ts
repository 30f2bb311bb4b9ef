import { type Workflow, WorkflowExecutionAlreadyStartedError, type WorkflowStartOptions } from '@temporalio/client';
import { CONTROL_QUEUE } from '../../model/sagas/queues.ts';
import { WorkflowClient } from './workflow-client.ts';

interface Start extends Pick<WorkflowStartOptions, 'staticSummary' | 'args'> {
  /** Id derived from the subject, so that one task at a time works on it. */
  workflowId: string;
  /** Identity of the task, stored under {@link memoKey} in the memo. */
  task: string;
  memoKey: string;
  apiKeyId: string;
}

/** Base of the clients whose workflows run one task at a time on a subject. */
export abstract class TaskClient extends WorkflowClient {
  /**
   * Starts a task, or joins the same one if it runs; resolves when Temporal has it.
   * @returns `isNew`: true when this call started it; `other`: memo of a different task that runs
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
