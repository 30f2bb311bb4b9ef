import { ERRORS, type ErrorCode } from '../../model/errors.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { failedWith } from './failure.ts';

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
