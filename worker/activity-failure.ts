import { CancelledFailure } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { type ErrorCode, MayflyError } from '../model/errors.ts';

/** What an attempt of the same step on the same host may cure. All else is for the saga to decide. */
const CURED_BY_RETRY: ReadonlySet<ErrorCode> = new Set([
  'host_unavailable',
  'store_unavailable',
  'clone_failed',
  'boot_failed',
  'internal',
]);

/** An activity's error as Temporal carries it: the code of our table is the failure's type. */
export function activityFailure(err: unknown): unknown {
  if (err instanceof ApplicationFailure || err instanceof CancelledFailure) return err;
  if (err instanceof MayflyError) return failure(err.code, err.message, err.options.cause);
  return failure('internal', err instanceof Error ? err.message : String(err), err);
}

function failure(code: ErrorCode, message: string, cause: unknown): ApplicationFailure {
  const nonRetryable = !CURED_BY_RETRY.has(code);
  return ApplicationFailure.create({ type: code, message, nonRetryable, ...(cause instanceof Error && { cause }) });
}
