import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { recordEventsWorkflowIdOf } from '../../model/sagas/messages.ts';
import { workflowIdOf } from '../../model/sagas/queues.ts';

/** Whether the saga of a sandbox runs, or events of it are on their way to its audit trail. @throws when Temporal does not answer */
export async function hasOpenSaga(client: Client, sandboxId: string): Promise<boolean> {
  for (const workflowId of [workflowIdOf(sandboxId), recordEventsWorkflowIdOf(sandboxId)]) {
    if (await isRunning(client, workflowId)) return true;
  }
  return false;
}

/** What Temporal has to answer in. Milliseconds. */
const ANSWER_MS = 5_000;

async function isRunning(client: Client, workflowId: string): Promise<boolean> {
  try {
    const described = await client.withDeadline(Date.now() + ANSWER_MS, () =>
      client.workflow.getHandle(workflowId).describe(),
    );
    return described.status.name === 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
