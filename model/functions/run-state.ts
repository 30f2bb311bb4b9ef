import type { ErrorCode } from '../errors.ts';

/**
 * delayed → queued → preparing → running → collecting → ended
 *
 * `preparing`: admitted; its sandbox is being created. `running`: its process started, or may have started.
 * `collecting`: the process ended and its result is being fetched. `ended`: final, with an `outcome`.
 */
export const RUN_STATES = ['delayed', 'queued', 'preparing', 'running', 'collecting', 'ended'] as const;
export type RunState = (typeof RUN_STATES)[number];

/** States before admission. */
export const WAITING_STATES = ['delayed', 'queued'] as const satisfies readonly RunState[];
/** States of an admitted run that has not ended. */
export const ACTIVE_STATES = ['preparing', 'running', 'collecting'] as const satisfies readonly RunState[];

/**
 * `expired`: not started within its event's maximum age. `skipped`: not started, see `skippedFor`. `not-started`:
 * failed before its start, see `failure`. `unknown`: started, but its end cannot be determined.
 */
export const RUN_OUTCOMES = [
  'succeeded',
  'failed',
  'timed-out',
  'cancelled',
  'expired',
  'skipped',
  'not-started',
  'unknown',
] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

/**
 * Cleanup of a run's machines: `none`: it had no machine. `pending`: residue is possible. `proved`: nothing is left.
 * `unproved`: a host was decommissioned and cannot be inspected.
 */
export const CLEANUPS = ['none', 'pending', 'proved', 'unproved'] as const;
export type Cleanup = (typeof CLEANUPS)[number];

/** Reasons why a run is waiting. */
export const PENDING_REASONS = [
  'check',
  'debounce',
  'batch',
  'setup',
  'concurrency',
  'throttle',
  'capacity',
  'retry',
  'host',
  'waitpoint',
] as const;
export type PendingReason = (typeof PENDING_REASONS)[number];

/**
 * Reasons for skipping a run: `singleton`: others of its key were active. `superseded`: a newer one replaced it.
 * `rate`: it came too soon after others.
 */
export const SKIPS = ['singleton', 'superseded', 'rate'] as const;

export interface RunFailure {
  code: ErrorCode;
  message: string;
}

/** Outcomes that need no further action. */
const NO_ACTION_OUTCOMES: readonly RunOutcome[] = ['succeeded', 'cancelled', 'skipped'];

/** True when a run with this outcome is a dead letter until redriven. */
export function isDeadLetterOutcome(outcome: RunOutcome): boolean {
  return !NO_ACTION_OUTCOMES.includes(outcome);
}
