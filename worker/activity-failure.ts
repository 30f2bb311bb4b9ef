import { CancelledFailure } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { ExecError } from '../host/os/exec.ts';
import { type ErrorCode, MayflyError } from '../model/errors.ts';
import { redactText } from '../model/redaction/redact.ts';

/** Error codes that a retry of the same step on the same host may cure. The workflow decides about all others. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  'host_unavailable',
  'store_unavailable',
  'temporal_unavailable',
  'clone_failed',
  'boot_failed',
  'restore_failed',
  'internal',
]);

/**
 * Final codes of a step that is retried forever: the workflow continues, since the work is unnecessary or forbidden.
 */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  'sandbox_not_running',
  'capture_in_use',
  'source_in_use',
  'source_running',
  'source_not_baked',
]);

/** Converts an activity's error to an `ApplicationFailure` whose type is the error code. */
export const activityFailure = (error: unknown) => toFailure(error, (code) => !RETRYABLE.has(code));

/** Like {@link activityFailure}, for a step that is retried forever. */
export const retryForeverFailure = (error: unknown) => toFailure(error, (code) => FINAL.has(code));

/** Like {@link activityFailure}, but every failure is retryable. */
export const retryableFailure = (error: unknown) => toFailure(error, () => false);

/** Copies a failure with a detail for the workflow; a cancellation gets none. */
export function withDetail(error: unknown, detail: unknown): unknown {
  if (!(error instanceof ApplicationFailure)) return error;
  const { type, message, nonRetryable, cause } = error;
  return ApplicationFailure.create({
    message,
    details: [detail],
    ...(type && { type }),
    nonRetryable: nonRetryable ?? false,
    ...(cause && { cause }),
  });
}

function describeError(error: unknown): { code: ErrorCode; message: string; cause: unknown } {
  if (isDiskFull(error)) {
    const message = error instanceof Error ? error.message : String(error);
    return { code: 'host_disk_full', message: `The host's disk is full: ${message}`, cause: error };
  }
  if (error instanceof MayflyError) return { code: error.code, message: error.message, cause: error.options.cause };
  return { code: 'internal', message: error instanceof Error ? error.message : String(error), cause: error };
}

/** Reports whether the host's own file system, not a guest's disk, refused a write of Mayfly or of a program it ran. */
function isDiskFull(error: unknown): boolean {
  if (error instanceof MayflyError) return error.code !== 'host_disk_full' && isDiskFull(error.options.cause);
  if (error instanceof ExecError) return /No space left on device|Disk quota exceeded/.test(error.stderr);
  if (!(error instanceof Error)) return false;
  return ('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) || isDiskFull(error.cause);
}

function toFailure(error: unknown, isFinal: (code: ErrorCode) => boolean): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  const { code, message, cause } = describeError(error);
  return ApplicationFailure.create({
    type: code,
    message: redactText(message),
    nonRetryable: isFinal(code),
    ...(cause instanceof Error && { cause }),
  });
}
