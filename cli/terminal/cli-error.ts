import { ERRORS, isErrorCode } from '../../model/errors.ts';

/** Exit codes of `mayfly`; docs/cli.md has this table. 124 is timeout(1)'s, 130 the shell's for SIGINT. */
export const EXIT = {
  ok: 0,
  /** The attempt failed. */
  failed: 1,
  /** Invalid command line, environment or request: nothing was attempted. */
  usage: 2,
  notFound: 3,
  /** No key, a wrong key, or a key without the permission. */
  refused: 4,
  /** Temporary: no answer, no host, no room. The same command can succeed later. */
  unavailable: 5,
  /** `mayfly run`: Mayfly failed, rather than the command, which has its own codes; as docker run. */
  notItsCommand: 125,
  /** `mayfly run`: the program exists, but cannot be run; as a shell. */
  notExecutable: 126,
  /** `mayfly run`: the guest has no such program; as a shell. */
  programNotFound: 127,
  /** `--wait` ended first; the operation continues. */
  waitedTooLong: 124,
  interrupted: 130,
  /** The reader of the output, such as `head`, has ended: the shell's code for SIGPIPE. */
  unread: 141,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Returns the exit code of an error by its HTTP status; `failed` for an unknown code. */
export function exitCodeOfCode(code: string): ExitCode {
  if (!isErrorCode(code)) return EXIT.failed;
  const { status } = ERRORS[code];
  if (status === 404) return EXIT.notFound;
  if (status === 401 || status === 403) return EXIT.refused;
  if (status === 429 || status === 503) return EXIT.unavailable;
  if (status === 400 || status === 413 || status === 415 || status === 422) return EXIT.usage;
  return EXIT.failed;
}

/** Error for the person at the terminal: what happened, why, and what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
  constructor(
    readonly exitCode: ExitCode,
    message: string,
    readonly why: string,
    /** Next step; empty: read the help of the command. */
    readonly remedy: string,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
  }
}

/** Makes the error for an invalid command line. @param remedy `@default` the help of the command */
export function usageError(message: string, remedy = ''): CliError {
  return new CliError(2, message, 'the command line is not valid; nothing was done', remedy);
}
