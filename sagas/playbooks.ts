import type { Client } from '@temporalio/client';
import {
  CANCEL_PLAYBOOK,
  PLAYBOOK_WORKFLOW,
  type PlaybookInput,
  playbookWorkflowIdOf,
} from '../model/playbook/playbook-saga.ts';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import type { Actor } from '../model/sandbox/sandbox.ts';
import { isGone } from './temporal/failure.ts';

type PlaybookWorkflow = (input: PlaybookInput) => Promise<void>;

/** Returns when Temporal has it; the same playbook again joins it, or is over. */
export async function writePlaybook(client: Client, input: PlaybookInput): Promise<void> {
  const { playbookId, sandboxId, actor } = input;
  await client.workflow.start<PlaybookWorkflow>(PLAYBOOK_WORKFLOW, {
    workflowId: playbookWorkflowIdOf(playbookId),
    taskQueue: CONTROL_QUEUE,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: `${playbookId} of ${sandboxId}`,
    staticDetails: `Asked for by API key ${actor.apiKeyId}`,
  });
}

/** Returns when Temporal has the wish, or nothing runs that could be cancelled. */
export async function cancelPlaybook(client: Client, playbookId: string, actor: Actor): Promise<void> {
  try {
    await client.workflow.getHandle(playbookWorkflowIdOf(playbookId)).signal<[Actor]>(CANCEL_PLAYBOOK, actor);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}
