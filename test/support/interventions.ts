import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';

/** Interventions of operators in workflows, as the Temporal UI offers them. */
export const INTERVENTIONS = ['cancel', 'cancel twice', 'terminate', 'reset to the first task'] as const;
export type Intervention = (typeof INTERVENTIONS)[number];

/** Intervenes in the open or last run. Resolves when Temporal has accepted it. */
export async function intervene(client: Client, workflowId: string, kind: Intervention): Promise<void> {
  const workflow = client.workflow.getHandle(workflowId);
  if (kind === 'terminate') await workflow.terminate('by a test');
  else if (kind === 'reset to the first task') await reset(client, workflowId);
  else {
    await workflow.cancel();
    if (kind === 'cancel twice') await workflow.cancel();
  }
}

async function reset(client: Client, workflowId: string): Promise<void> {
  const workflow = client.workflow.getHandle(workflowId);
  const { events } = await workflow.fetchHistory();
  const first = events?.find(({ workflowTaskCompletedEventAttributes: its }) => its != null);
  if (first?.eventId == null) throw new Error(`${workflowId} has completed no workflow task`);
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId, runId: (await workflow.describe()).runId },
    reason: 'by a test',
    workflowTaskFinishEventId: first.eventId,
    requestId: randomUUID(),
  });
}
