import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { ERRORS, type ErrorCode, isErrorCode } from '../../model/errors.ts';
import { isMultiStepHeartbeat } from '../../model/sandbox/multi-step.ts';
import type { SandboxFailure, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { timeoutCode, timeoutMessage } from '../../model/sandbox/timeouts.ts';

/**
 * Why a create failed, in the words of the error table: which step, which code, what it said. A local activity throws
 * its failure bare, so the caller says which step it was.
 */
export function failureOf(error: unknown, step: string): SandboxFailure {
  const cause = causeOf(error);
  if (cause instanceof TimeoutFailure) return timedOut(step, cause);
  const type = cause instanceof ApplicationFailure ? (cause.type ?? '') : '';
  return {
    code: isErrorCode(type) ? type : 'internal',
    step,
    message: cause instanceof Error ? cause.message : String(cause),
  };
}

/** What an activity failed with: one of a queue wraps it, a local one does not. */
export function causeOf(error: unknown): unknown {
  return error instanceof ActivityFailure ? error.cause : error;
}

function timedOut(step: string, failure: TimeoutFailure): SandboxFailure {
  if (failure.timeoutType === 'SCHEDULE_TO_START') {
    return { code: 'host_unavailable', step, message: 'the host worker does not answer' };
  }
  return { code: timeoutCode(step), step, message: timeoutMessage(step, seenIn(failure.lastHeartbeatDetails)) };
}

/** A heartbeat's details are a line, or those of an activity of several steps. */
function seenIn(heartbeat: unknown): string {
  if (typeof heartbeat === 'string') return heartbeat;
  return isMultiStepHeartbeat(heartbeat) ? heartbeat.seen : '';
}

/** What a workflow fails with, which names the step. */
export function failedWith({ code, step, message }: SandboxFailure): ApplicationFailure {
  return refusal(code, `${step}: ${message}`);
}

/** What a message, or a workflow, is refused with. */
export function refusal(code: ErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: code, message, nonRetryable: true });
}

/** The failure of what was cut short by the sandbox's end. */
export function endedMeanwhile({ id }: Pick<SandboxRecord, 'id'>): SandboxFailure {
  return { code: 'sandbox_ended', step: 'workflow', message: `${id} ended meanwhile.` };
}

/** Whether something was refused, and did not fail. No room is no fault. A host that does not answer is one, and so is an attempt that came too late. */
export function isRefusal(code: ErrorCode): boolean {
  if (code === 'capacity_exhausted' || code === 'host_disk_full') return true;
  return ERRORS[code].status < 500 && code !== 'stale_attempt';
}

/**
 * How a workflow ends that could not do what it was asked for. When it was refused, before anything was done, it completes, so
 * that Temporal's failed workflows are those that somebody should look at; the record says why. All others fail.
 * @param asking the steps at which nothing has been done yet
 * @param outcome what it completes with
 * @throws ApplicationFailure with the code of the failure
 */
export function refusedOrFailed<T>(failure: SandboxFailure, asking: readonly string[], outcome: T): T {
  if (failure.code === 'workflow_cancelled') return outcome;
  if (asking.includes(failure.step) && isRefusal(failure.code)) return outcome;
  throw failedWith(failure);
}
