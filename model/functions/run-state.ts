import type { ErrorCode } from '../errors.ts';

/**
 * delayed → queued → preparing → running → collecting → ended
 *
 * `preparing`: it is admitted, and its sandbox is made. `running`: its process was started, or may have been. `collecting`: that
 * has ended, and its result is fetched. `ended`: `outcome` says how, and is never written again.
 */
export const RUN_STATES = ['delayed', 'queued', 'preparing', 'running', 'collecting', 'ended'] as const;
export type RunState = (typeof RUN_STATES)[number];

/** It was accepted, and is not admitted yet. */
export const WAITING = ['delayed', 'queued'] as const satisfies readonly RunState[];
/** Those of a run that was admitted and has not ended. */
export const UNDER_WAY = ['preparing', 'running', 'collecting'] as const satisfies readonly RunState[];

/**
 * `expired`: not started within its event's greatest age. `skipped`: not started, `skippedFor` says why.
 * `not-started`: it never began, `failure` says why. `unknown`: it was started, and nobody can find out how it ended.
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
 * What is known of its machines: `none`: it never had one. `pending`: something of one may be left. `proved`: nothing is left.
 * `unproved`: a host was forgotten, and nobody can look there.
 */
export const CLEANUPS = ['none', 'pending', 'proved', 'unproved'] as const;
export type Cleanup = (typeof CLEANUPS)[number];

/** Why a run is no further. */
export const WAITS = [
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
export type Wait = (typeof WAITS)[number];

/**
 * Why a run was skipped: `singleton`: others of its key were under way. `superseded`: a newer one took its place. `rate`: it came
 * too soon after others.
 */
export const SKIPS = ['singleton', 'superseded', 'rate'] as const;

export interface RunFailure {
  code: ErrorCode;
  message: string;
}

/** After these nobody need do anything more about the event. */
const SETTLED: readonly RunOutcome[] = ['succeeded', 'cancelled', 'skipped'];

/** Whether a run that ended so is a dead letter, until it is redriven. */
export function isUnsettled(outcome: RunOutcome): boolean {
  return !SETTLED.includes(outcome);
}
