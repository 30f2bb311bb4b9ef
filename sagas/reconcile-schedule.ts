import { type Client, ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import {
  RECONCILE_HOST_WORKFLOW,
  RECONCILE_SCHEDULE,
  RECONCILE_WORKFLOW,
  type ReconcileHostInput,
  type ReconcileInput,
  reconcileHostWorkflowIdOf,
} from '../model/sagas/reconcile.ts';

export interface ReconcileTimes extends ReconcileInput {
  /** From one round's start to the next one's. Milliseconds. */
  everyMs: number;
}

/**
 * Sees to it that Temporal has the schedule, with these times, and begins a round when it had none. Any number of
 * processes may do so, at once and again.
 */
export async function ensureReconcileSchedule(client: Client, { everyMs, graceMs }: ReconcileTimes): Promise<void> {
  const wished = {
    spec: { intervals: [{ every: everyMs }] },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: everyMs },
    action: {
      type: 'startWorkflow' as const,
      workflowType: RECONCILE_WORKFLOW,
      workflowId: RECONCILE_WORKFLOW,
      taskQueue: CONTROL_QUEUE,
      args: [{ graceMs }] satisfies [ReconcileInput],
    },
  };
  const memo = { everyMs, graceMs };
  try {
    await client.schedule.create({
      scheduleId: RECONCILE_SCHEDULE,
      ...wished,
      memo,
      state: { triggerImmediately: true },
    });
    return;
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
  await client.schedule.getHandle(RECONCILE_SCHEDULE).update(({ state }) => ({ ...wished, state }));
}

/** A round at once, or after the one that runs; nothing where no control worker has made the schedule yet: it begins with one. */
export async function reconcileNow(client: Client): Promise<void> {
  try {
    await client.schedule.getHandle(RECONCILE_SCHEDULE).trigger(ScheduleOverlapPolicy.BUFFER_ONE);
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
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
