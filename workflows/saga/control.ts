import { proxyLocalActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';

/**
 * What only the control worker can do: the store, and the user CA. Local activities: short, idempotent by event id, and
 * 2 ms where a queued activity costs 9. One that keeps failing fails its workflow.
 */
export const control = proxyLocalActivities<ControlActivities>({
  startToCloseTimeout: '20s',
  retry: { initialInterval: '100ms', maximumInterval: '5s', maximumAttempts: 5 },
});

/** The same, retried until the store has it. */
export const controlUntilDone = proxyLocalActivities<ControlActivities>({
  startToCloseTimeout: '20s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
});
