import { CancelledFailure } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { ExecError } from '../host/os/exec.ts';
import { type ErrorCode, MayflyError } from '../model/errors.ts';
import { redactText } from '../model/redaction/redact.ts';

/** What an attempt of the same step on the same host may cure. All else is for the saga to decide. */
const CURED_BY_RETRY: ReadonlySet<ErrorCode> = new Set([
  'host_unavailable',
  'store_unavailable',
  'temporal_unavailable',
  'clone_failed',
  'boot_failed',
  'restore_failed',
  'internal',
]);

/** What a saga goes on with, though the step is tried until it is done: there is nothing to do, or it is not to be done. */
const ANSWERS: ReadonlySet<ErrorCode> = new Set([
  'sandbox_not_running',
  'capture_in_use',
  'source_in_use',
  'source_running',
  'source_not_baked',
]);

/** Converts an activity's error to what Temporal carries: the code of our table is the failure's type. */
export const activityFailure = (error: unknown) => toFailure(error, (code) => !CURED_BY_RETRY.has(code));

/** As {@link activityFailure}, for a step of a saga that is tried until it is done. */
export const untilDoneFailure = (error: unknown) => toFailure(error, (code) => ANSWERS.has(code));

/** As {@link activityFailure}, for what is tried until it succeeds, whatever stands in its way. */
export const retryableFailure = (error: unknown) => toFailure(error, () => false);

/** The same failure with a detail for the workflow; a cancellation has none. */
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

function described(error: unknown): { code: ErrorCode; message: string; cause: unknown } {
  if (foundNoRoom(error)) {
    const message = error instanceof Error ? error.message : String(error);
    return { code: 'host_disk_full', message: `The host's disk is full: ${message}`, cause: error };
  }
  if (error instanceof MayflyError) return { code: error.code, message: error.message, cause: error.options.cause };
  return { code: 'internal', message: error instanceof Error ? error.message : String(error), cause: error };
}

/** Whether the host's own file system refused a write, of ours or of a program that we ran; guests' disks are not meant. */
function foundNoRoom(error: unknown): boolean {
  if (error instanceof MayflyError) return error.code !== 'host_disk_full' && foundNoRoom(error.options.cause);
  if (error instanceof ExecError) return /No space left on device|Disk quota exceeded/.test(error.stderr);
  if (!(error instanceof Error)) return false;
  return ('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) || foundNoRoom(error.cause);
}

function toFailure(error: unknown, isFinal: (code: ErrorCode) => boolean): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  const { code, message, cause } = described(error);
  return ApplicationFailure.create({
    type: code,
    message: redactText(message),
    nonRetryable: isFinal(code),
    ...(cause instanceof Error && { cause }),
  });
}
