import type { Client } from '@temporalio/client';
import { FORGET_HOST_WORKFLOW, type ForgetHostInput, forgetHostWorkflowIdOf } from '../model/sagas/forget-host.ts';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';

/** Returns when Temporal has it; joins the one that runs. */
export async function forgetHost(client: Client, input: ForgetHostInput): Promise<void> {
  const { hostId, actor } = input;
  await client.workflow.start<(input: ForgetHostInput) => Promise<void>>(FORGET_HOST_WORKFLOW, {
    workflowId: forgetHostWorkflowIdOf(hostId),
    taskQueue: CONTROL_QUEUE,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: readable(`forget ${hostId}`),
    staticDetails: `Asked for by API key ${actor.apiKeyId}`,
  });
}

/** Resolves when nothing waits for the host any more. */
export function hostForgotten(client: Client, hostId: string): Promise<unknown> {
  return client.workflow.getHandle(forgetHostWorkflowIdOf(hostId)).result();
}
