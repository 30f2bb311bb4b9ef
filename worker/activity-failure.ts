import { CancelledFailure } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { ExecError } from '../host/os/exec.ts';
import { type ErrorCode, MayflyError } from '../model/errors.ts';

/** What an attempt of the same step on the same host may cure. All else is for the saga to decide. */
const CURED_BY_RETRY: ReadonlySet<ErrorCode> = new Set([
  'host_unavailable',
  'store_unavailable',
  'clone_failed',
  'boot_failed',
  'restore_failed',
  'internal',
]);

/** An activity's error as Temporal carries it: the code of our table is the failure's type. */
export function activityFailure(err: unknown): unknown {
  if (err instanceof ApplicationFailure || err instanceof CancelledFailure) return err;
  const { code, message, cause } = described(err);
  return failure(code, message, cause, !CURED_BY_RETRY.has(code));
}

/** For what is tried until it succeeds, whatever stands in its way. */
export function patientFailure(err: unknown): unknown {
  if (err instanceof ApplicationFailure || err instanceof CancelledFailure) return err;
  const { code, message, cause } = described(err);
  return failure(code, message, cause, false);
}

/** The same failure with a detail for the workflow; a cancellation has none. */
export function withDetail(err: unknown, detail: unknown): unknown {
  if (!(err instanceof ApplicationFailure)) return err;
  const { type, message, nonRetryable, cause } = err;
  return ApplicationFailure.create({
    message,
    details: [detail],
    ...(type && { type }),
    nonRetryable: nonRetryable ?? false,
    ...(cause && { cause }),
  });
}

function described(err: unknown): { code: ErrorCode; message: string; cause: unknown } {
  if (foundNoRoom(err)) {
    const message = err instanceof Error ? err.message : String(err);
    return { code: 'host_disk_full', message: `The host's disk is full: ${message}`, cause: err };
  }
  if (err instanceof MayflyError) return { code: err.code, message: err.message, cause: err.options.cause };
  return { code: 'internal', message: err instanceof Error ? err.message : String(err), cause: err };
}

/** Whether the host's own file system refused a write, of ours or of a program that we ran; guests' disks are not meant. */
function foundNoRoom(err: unknown): boolean {
  if (err instanceof MayflyError) return err.code !== 'host_disk_full' && foundNoRoom(err.options.cause);
  if (err instanceof ExecError) return /No space left on device|Disk quota exceeded/.test(err.stderr);
  if (!(err instanceof Error)) return false;
  return ('code' in err && (err.code === 'ENOSPC' || err.code === 'EDQUOT')) || foundNoRoom(err.cause);
}

function failure(code: ErrorCode, message: string, cause: unknown, nonRetryable: boolean): ApplicationFailure {
  return ApplicationFailure.create({ type: code, message, nonRetryable, ...(cause instanceof Error && { cause }) });
}
