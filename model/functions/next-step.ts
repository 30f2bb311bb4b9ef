import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import type { ErrorCode } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { FunctionSpec, RetryPolicy } from './function.ts';
import { type Attempt, getLastAttempt, type RunRecord } from './run.ts';
import type { RunFailure } from './run-state.ts';

/** Step after an attempt: the end, the queue again, or a retry that keeps its slots. */
type NextStep = { step: 'end' } | { step: 'requeue'; pauseMs: number } | { step: 'retry'; pauseMs: number };

/** Exit code of a process that requests a retry: EX_TEMPFAIL of sysexits.h. */
export const EX_TEMPFAIL = 75;

/** Transient errors of a create: no capacity at the moment. */
const CAPACITY_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'capacity_exhausted',
  'host_disk_full',
  'host_unavailable',
  'no_host',
  'project_quota_exceeded',
  'quota_exceeded',
  'setup_not_ready',
] as const);

/** Permanent errors of a start. */
const PERMANENT_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'command_refused',
  'exceeds_hosts',
  'forbidden',
  'function_gone',
  'invalid_request',
  'policy_denied',
  'program_not_executable',
  'program_not_found',
  'project_not_found',
  'secret_not_found',
  'secrets_too_large',
  'setup_failed',
  'snapshot_not_found',
  'source_not_found',
  'workflow_cancelled',
] as const);

/** Backoff between placement attempts, ms; grows, since each attempt costs the hosts work. */
const PLACEMENT_BACKOFF = { firstMs: 1_000, mostMs: 30_000 };
/** Backoff before another sandbox is tried, ms. */
const START_BACKOFF = { firstMs: 500, mostMs: 30_000 };

/** Decides the next step of a run. @param run state after the end of its last attempt */
export function decideNextStep(
  run: RunRecord,
  spec: Pick<FunctionSpec, 'retry' | 'idempotent'>,
  now: number,
): NextStep {
  const attempt = getLastAttempt(run);
  if (!attempt?.outcome || run.cancelledBy !== null) return { step: 'end' };
  if (attempt.outcome === 'not-started') return decideAfterNoStart(run, attempt, now);
  if (!spec.idempotent || run.attempts.length >= spec.retry.maxAttempts || !isRetried(attempt, spec.retry)) {
    return { step: 'end' };
  }
  return { step: 'retry', pauseMs: getRetryBackoffMs(run, spec.retry.backoff) };
}

function decideAfterNoStart(run: RunRecord, { failure }: Attempt, now: number): NextStep {
  if (Date.parse(run.expiresAt) <= now) return { step: 'end' };
  if (failure && CAPACITY_ERRORS.has(failure.code))
    return { step: 'requeue', pauseMs: exponentialBackoff(PLACEMENT_BACKOFF, run.tries) };
  if (failure && PERMANENT_ERRORS.has(failure.code)) return { step: 'end' };
  if (run.failedStarts >= LIMITS.functions.failedStarts) return { step: 'end' };
  return { step: 'retry', pauseMs: exponentialBackoff(START_BACKOFF, run.failedStarts) };
}

/**
 * Returns the backoff before another sandbox is tried after a failure, ms; null: give up.
 * @param failures number of failures for reasons other than capacity, including this one
 */
export function getSandboxBackoffMs({ code }: RunFailure, tries: number, failures: number): number | null {
  if (CAPACITY_ERRORS.has(code)) return exponentialBackoff(PLACEMENT_BACKOFF, tries);
  if (PERMANENT_ERRORS.has(code) || failures >= LIMITS.functions.failedStarts) return null;
  return exponentialBackoff(START_BACKOFF, failures);
}

/** True when an attempt did not start for lack of capacity. */
export function failedForCapacity({ outcome, failure }: Pick<Attempt, 'outcome' | 'failure'>): boolean {
  return outcome === 'not-started' && failure !== null && isCapacityError(failure);
}

export function isCapacityError({ code }: RunFailure): boolean {
  return CAPACITY_ERRORS.has(code);
}

function isRetried({ outcome, exitCode }: Attempt, { on, exitCodes }: RetryPolicy): boolean {
  if (outcome === 'failed' && exitCode === EX_TEMPFAIL) return true;
  if (!on.some((each) => each === outcome)) return false;
  return outcome !== 'failed' || exitCodes === null || (exitCode !== null && exitCodes.includes(exitCode));
}

function getRetryBackoffMs(
  { id, attempts }: Pick<RunRecord, 'id' | 'attempts'>,
  { initialSeconds, factor, maxSeconds, jitter }: RetryPolicy['backoff'],
): number {
  const whole = Math.min(maxSeconds, initialSeconds * factor ** (attempts.length - 1)) * 1_000;
  if (!jitter) return Math.round(whole);
  const [byte = 0] = sha256(utf8ToBytes(`${id}/${attempts.length}`));
  return Math.round((whole * (128 + byte / 2)) / 256); // deterministic jitter: 50 to 100 %
}

function exponentialBackoff({ firstMs, mostMs }: typeof PLACEMENT_BACKOFF, times: number): number {
  return Math.min(mostMs, firstMs * 2 ** Math.min(16, Math.max(0, times - 1)));
}
