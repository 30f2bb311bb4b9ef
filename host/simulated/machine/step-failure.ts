import { type ErrorCode, MayflyError } from '../../../model/errors.ts';

/** Gives errors without a code the code of their step. @throws MayflyError; the signal's reason */
export async function orStepFailure<T>(
  step: () => Promise<T>,
  code: ErrorCode,
  what: string,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof MayflyError) throw cause;
    throw new MayflyError(code, `${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
