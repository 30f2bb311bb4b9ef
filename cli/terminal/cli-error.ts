import type { ExitCode } from './exit-codes.ts';

/** Something the person at the terminal should read: what happened, why, and what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
  constructor(
    readonly exitCode: ExitCode,
    /** What happened. */
    message: string,
    readonly why: string,
    readonly remedy: string,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
  }
}

/** Where nothing better is known; whoever knows which command was meant names that one's. */
export const SEE_HELP = 'See `mayfly --help`.';

/** The command line cannot be understood. */
export function usageError(message: string, remedy = SEE_HELP): CliError {
  return new CliError(2, message, 'the command line is not valid; nothing was done', remedy);
}
