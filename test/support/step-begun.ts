import type { WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';
import { eventually } from './eventually.ts';

const { PENDING_ACTIVITY_STATE_STARTED } = proto.temporal.api.enums.v1.PendingActivityState;

/**
 * Resolves when a worker is at that activity of an open run. One that only waits in its queue is not begun: when its host
 * restarts now, the next worker begins it, and meets the fault that was meant for the one before.
 */
export async function stepBegun(workflow: Pick<WorkflowHandle, 'describe'>, step: string): Promise<void> {
  await eventually(
    async () => (await workflow.describe()).raw.pendingActivities ?? [],
    (pending) =>
      pending.some(
        ({ activityType, state }) => activityType?.name === step && state === PENDING_ACTIVITY_STATE_STARTED,
      ),
  );
}
