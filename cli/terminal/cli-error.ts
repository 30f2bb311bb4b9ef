import { ERRORS, isErrorCode } from '../../model/errors.ts';

/** What `mayfly` ends with; README.md shows this table. 124 is timeout(1)'s, 130 the shell's for SIGINT. */
export const EXIT = {
  ok: 0,
  /** It was tried and failed. */
  failed: 1,
  /** The command line, the environment or the request is not valid: nothing was tried. */
  usage: 2,
  notFound: 3,
  /** No key, a wrong key, or a key that may not do this. */
  refused: 4,
  /** Not now: no answer, no host, no room. The same command can succeed later. */
  unavailable: 5,
  /** `mayfly run`: what failed is Mayfly and not the command, whose codes are its own; docker run's. */
  notItsCommand: 125,
  /** `mayfly run`: the program is there, but cannot be run; the shell's. */
  notExecutable: 126,
  /** `mayfly run`: the guest has no such program; the shell's. */
  programNotFound: 127,
  /** `--wait` was over first; what was asked for goes on. */
  waitedTooLong: 124,
  interrupted: 130,
  /** Whoever read the output has gone, such as `head`: the shell's for SIGPIPE. */
  unread: 141,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Returns the exit code of an error by its HTTP status; of an unknown code that of a failure. */
export function exitCodeOfCode(code: string): ExitCode {
  if (!isErrorCode(code)) return EXIT.failed;
  const { status } = ERRORS[code];
  if (status === 404) return EXIT.notFound;
  if (status === 401 || status === 403) return EXIT.refused;
  if (status === 429 || status === 503) return EXIT.unavailable;
  if (status === 400 || status === 413 || status === 415 || status === 422) return EXIT.usage;
  return EXIT.failed;
}

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
