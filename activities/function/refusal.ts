import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import { throwMapped } from '../../temporal/call/failure.ts';

/** Returns the sandbox's refusal as a failure. @throws any other error, including `noAnswer` */
export function toFailure(error: unknown, noAnswer: readonly ErrorCode[]): RunFailure {
  let refused = error;
  try {
    if (!(error instanceof MayflyError)) throwMapped(error);
  } catch (cause) {
    refused = cause;
  }
  if (!(refused instanceof MayflyError) || noAnswer.includes(refused.code)) throw error;
  return { code: refused.code, message: refused.message };
}
