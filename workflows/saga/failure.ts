import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { ERRORS, type ErrorCode, isErrorCode } from '../../model/errors.ts';
import { isMultiStepHeartbeat } from '../../model/sandbox/multi-step.ts';
import type { SandboxFailure, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { timeoutCode, timeoutMessage } from '../../model/sandbox/timeouts.ts';

/**
 * Returns a failure with an error code, step and message. A local activity throws its failure bare, so the caller names
 * the step.
 */
export function failureOf(error: unknown, step: string): SandboxFailure {
  const cause = causeOf(error);
  if (cause instanceof TimeoutFailure) return timeoutFailure(step, cause);
  const type = cause instanceof ApplicationFailure ? (cause.type ?? '') : '';
  return {
    code: isErrorCode(type) ? type : 'internal',
    step,
    message: cause instanceof Error ? cause.message : String(cause),
  };
}

/** Returns the cause of a failed activity: a queued one wraps it, a local one does not. */
export function causeOf(error: unknown): unknown {
  return error instanceof ActivityFailure ? error.cause : error;
}

function timeoutFailure(step: string, failure: TimeoutFailure): SandboxFailure {
  if (failure.timeoutType === 'SCHEDULE_TO_START') {
    return { code: 'host_unavailable', step, message: 'the host worker does not answer' };
  }
  return { code: timeoutCode(step), step, message: timeoutMessage(step, progressOf(failure.lastHeartbeatDetails)) };
}

/** Returns the progress in a heartbeat: a line, or a multi-step activity's details. */
function progressOf(heartbeat: unknown): string {
  if (typeof heartbeat === 'string') return heartbeat;
  return isMultiStepHeartbeat(heartbeat) ? heartbeat.seen : '';
}

/** Returns a workflow's failure, which names the step. */
export function workflowFailure({ code, step, message }: SandboxFailure): ApplicationFailure {
  return refusal(code, `${step}: ${message}`);
}

/** Returns a non-retryable refusal of a message or workflow. */
export function refusal(code: ErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: code, message, nonRetryable: true });
}

/** Returns the failure of work that the sandbox's end cut short. */
export function sandboxEndedFailure({ id }: Pick<SandboxRecord, 'id'>): SandboxFailure {
  return { code: 'sandbox_ended', step: 'workflow', message: `${id} ended meanwhile.` };
}

/**
 * Reports whether a code is a refusal, not a failure. Lack of capacity is a refusal; a silent host or a stale attempt
 * is a failure.
 */
export function isRefusal(code: ErrorCode): boolean {
  if (code === 'capacity_exhausted' || code === 'host_disk_full') return true;
  return ERRORS[code].status < 500 && code !== 'stale_attempt';
}

/**
 * Ends a workflow that could not do its work. A refusal before any effect completes it, so that Temporal's failed
 * workflows are those to investigate; the record has the reason. Anything else fails it.
 * @param refusableSteps steps without effects yet
 * @param outcome result when it completes
 * @throws ApplicationFailure with the code of the failure
 */
export function refusedOrFailed<T>(failure: SandboxFailure, refusableSteps: readonly string[], outcome: T): T {
  if (failure.code === 'workflow_cancelled') return outcome;
  if (refusableSteps.includes(failure.step) && isRefusal(failure.code)) return outcome;
  throw workflowFailure(failure);
}
