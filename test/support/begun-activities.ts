import type { WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';

const { PENDING_ACTIVITY_STATE_STARTED } = proto.temporal.api.enums.v1.PendingActivityState;

/**
 * The activities of an open run that a worker is at. One that only waits in its queue is not: when its host restarts now, the
 * next one begins it, and meets the fault that was meant for the one before.
 */
export async function begunActivities(workflow: Pick<WorkflowHandle, 'describe'>): Promise<string[]> {
  const { raw } = await workflow.describe();
  const begun = (raw.pendingActivities ?? []).filter(({ state }) => state === PENDING_ACTIVITY_STATE_STARTED);
  return begun.flatMap(({ activityType }) => activityType?.name ?? []);
}
