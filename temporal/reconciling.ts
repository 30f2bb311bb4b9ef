import type { Client, WorkflowStartOptions } from '@temporalio/client';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import {
  RECONCILE_HOST_WORKFLOW,
  RECONCILE_NOW,
  RECONCILE_WORKFLOW,
  type ReconcileHostInput,
  type ReconcileTimes,
  reconcileHostWorkflowIdOf,
} from '../model/sagas/reconcile.ts';

type Reconcile = (times: ReconcileTimes) => Promise<void>;

/** Has store, Temporal and hosts be compared from now on, unless they are. Any number of processes may, at once and again. */
export async function ensureReconciling(client: Client, times: ReconcileTimes): Promise<void> {
  await client.workflow.start<Reconcile>(RECONCILE_WORKFLOW, {
    ...optionsOf(times),
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
}

/** The same, with a round at once, or after the one that runs; these times hold from then on. */
export async function reconcileNow(client: Client, times: ReconcileTimes): Promise<void> {
  await client.workflow.signalWithStart<Reconcile, [ReconcileTimes]>(RECONCILE_WORKFLOW, {
    ...optionsOf(times),
    signal: RECONCILE_NOW,
    signalArgs: [times],
  });
}

function optionsOf(times: ReconcileTimes): WorkflowStartOptions<Reconcile> {
  return {
    workflowId: RECONCILE_WORKFLOW,
    taskQueue: CONTROL_QUEUE,
    args: [times],
    staticSummary: readable('compares store, Temporal and hosts'),
  };
}

/** Compares one host with what is known of it, now; joins the comparison that runs. */
export async function reconcileHostNow(client: Client, input: ReconcileHostInput): Promise<void> {
  await client.workflow.start<(input: ReconcileHostInput) => Promise<void>>(RECONCILE_HOST_WORKFLOW, {
    workflowId: reconcileHostWorkflowIdOf(input.hostId),
    taskQueue: CONTROL_QUEUE,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: readable(`what is on ${input.hostId}`),
  });
}
