import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';

const BRIEF = {
  startToCloseTimeout: '20s',
  retry: { initialInterval: '100ms', maximumInterval: '5s', maximumAttempts: 5 },
} as const;

/**
 * Activities of the control worker: the store, and the user CA. Local: short, idempotent by event id, and 2 ms where a
 * queued activity costs 9. Persistent failures fail the workflow.
 */
export const control = proxyLocalActivities<ControlActivities>(BRIEF);

const UNTIL_DONE = {
  startToCloseTimeout: '20s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
} as const;

/** Activities like {@link control}, queued: the caller is answered before they start. */
export const queuedControl = proxyActivities<ControlActivities>(BRIEF);

/** Activities like {@link control}, retried until the store answers. */
export const controlUntilDone = proxyLocalActivities<ControlActivities>(UNTIL_DONE);

/**
 * Activities like {@link controlUntilDone}, queued: scheduling makes Temporal persist the update that requested them.
 * With a local activity, a server crash could lose the update after its effect on the store, and the effect would be
 * orphaned.
 */
export const queuedControlUntilDone = proxyActivities<ControlActivities>(UNTIL_DONE);
