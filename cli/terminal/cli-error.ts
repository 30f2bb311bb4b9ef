import type { ExitCode } from './exit-codes.ts';

/** Something the person at the terminal should read: what happened, why, and what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
  constructor(
    readonly exitCode: ExitCode,
    /** What happened. */
    message: string,
    readonly why: string,
    /** What to do; empty: read the help of the command. */
    readonly remedy: string,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
  }
}

/** The command line cannot be understood. @param remedy `@default` the help of the command */
export function usageError(message: string, remedy = ''): CliError {
  return new CliError(2, message, 'the command line is not valid; nothing was done', remedy);
}
