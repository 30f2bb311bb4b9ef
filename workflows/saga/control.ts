import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';

const BRIEF = {
  startToCloseTimeout: '20s',
  retry: { initialInterval: '100ms', maximumInterval: '5s', maximumAttempts: 5 },
} as const;

/**
 * What only the control worker can do: the store, and the user CA. Local activities: short, idempotent by event id, and
 * 2 ms where a queued activity costs 9. One that keeps failing fails its workflow.
 */
export const control = proxyLocalActivities<ControlActivities>(BRIEF);

const UNTIL_DONE = {
  startToCloseTimeout: '20s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
} as const;

/** The same, by the queue: whoever asked is answered before it begins. */
export const controlStep = proxyActivities<ControlActivities>(BRIEF);

/** The same, retried until the store has it. */
export const controlUntilDone = proxyLocalActivities<ControlActivities>(UNTIL_DONE);

/**
 * The same, by the queue: when it begins, Temporal keeps what this run was asked. With a local activity alone a server that
 * dies forgets the update that asked, and the store has what nobody goes on with.
 */
export const controlByQueue = proxyActivities<ControlActivities>(UNTIL_DONE);
