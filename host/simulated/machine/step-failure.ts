import { type ErrorCode, MayflyError } from '../../../model/errors.ts';

/** What a step rejects with: why it was aborted, an error that has its code already, or one with that of the step. */
export function asFailure(code: ErrorCode, what: string, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof MayflyError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new MayflyError(code, `${what}: ${why}`, { cause: error });
}
