import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { CONTROL_QUEUE } from '../../model/sagas/queues.ts';
import { RECONCILE_ONCE_WORKFLOW } from '../../model/sagas/reconcile.ts';

/** Runs one round of the reconciler, on all hosts. @param graceMs age below which a change is ignored, ms */
export async function reconcileOnce(client: Client, graceMs = 0): Promise<void> {
  const workflowId = `${RECONCILE_ONCE_WORKFLOW}-${randomUUID()}`;
  await client.workflow.execute(RECONCILE_ONCE_WORKFLOW, { workflowId, taskQueue: CONTROL_QUEUE, args: [{ graceMs }] });
}
