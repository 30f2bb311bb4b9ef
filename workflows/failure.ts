import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { type ErrorCode, isErrorCode } from '../model/errors.ts';
import type { SandboxFailure } from '../model/sandbox.ts';

/** What a step's time-out means to the caller, where it has a name of its own. */
const TIMEOUT_CODES: Record<string, ErrorCode> = { awaitIp: 'ip_timeout', verifySsh: 'ssh_timeout' };

/** Why a create failed, in the words of the error table: which step, which code, what it said. */
export function failureOf(err: unknown): SandboxFailure {
  if (!(err instanceof ActivityFailure)) {
    return { code: 'internal', step: 'workflow', message: err instanceof Error ? err.message : String(err) };
  }
  const step = err.activityType;
  const { cause } = err;
  if (cause instanceof TimeoutFailure) return timedOut(step, cause);
  const type = cause instanceof ApplicationFailure ? (cause.type ?? '') : '';
  return { code: isErrorCode(type) ? type : 'internal', step, message: cause?.message ?? err.message };
}

function timedOut(step: string, failure: TimeoutFailure): SandboxFailure {
  if (failure.timeoutType === 'SCHEDULE_TO_START') {
    return { code: 'host_unavailable', step, message: 'the host worker did not pick the step up' };
  }
  const code = TIMEOUT_CODES[step] ?? 'step_timeout';
  return { code, step, message: `${step} did not end in time (${failure.timeoutType})` };
}
