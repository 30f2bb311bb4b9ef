import type { WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';
import { eventually } from './eventually.ts';

const { PENDING_ACTIVITY_STATE_STARTED } = proto.temporal.api.enums.v1.PendingActivityState;

/** Resolves when a worker executes that activity of an open run, not when it is only scheduled. */
export async function stepBegun(workflow: Pick<WorkflowHandle, 'describe'>, step: string): Promise<void> {
  await eventually(
    async () => (await workflow.describe()).raw.pendingActivities ?? [],
    (pending) =>
      pending.some(
        ({ activityType, state }) => activityType?.name === step && state === PENDING_ACTIVITY_STATE_STARTED,
      ),
  );
}
