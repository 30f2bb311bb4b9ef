import { execFile } from 'node:child_process';
import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import { programBegins } from './program-observers.ts';

export interface ExecResult {
  stdout: string;
  stderr: string;
}

export interface ExecOptions {
  signal?: AbortSignal;
  input?: string;
  /** Milliseconds. `@default` 60_000 */
  timeoutMs?: number;
  env?: NodeJS.ProcessEnv;
}

/** Error of a failed program, or of a service that refused it. */
export class ProgramError extends Error {
  constructor(
    message: string,
    readonly stderr: string,
    cause: unknown,
  ) {
    super(message, { cause });
  }
}

/** Error of a program that exited with a status other than 0, or could not be run (`exitCode` null). */
export class ExecError extends ProgramError {
  override readonly name = 'ExecError';
  constructor(
    readonly program: string,
    readonly args: readonly string[],
    readonly exitCode: number | null,
    stderr: string,
    readonly stdout: string,
    cause: unknown,
  ) {
    const why = stderr.trim() || (cause instanceof Error ? cause.message : 'failed');
    super(`${program} ${args[0] ?? ''}: ${why}`, stderr, cause);
  }
}

/** Converts the failure of a program to its step's. @throws MayflyError `code`; the signal's reason */
export async function withStepError<T>(
  work: Promise<T>,
  code: ErrorCode,
  what: string,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    signal?.throwIfAborted();
    if (!(cause instanceof ProgramError)) throw cause;
    throw new MayflyError(code, `${what}: ${cause.message}`, { cause });
  }
}

/**
 * Runs an argv array without a shell, C locale. The child dies with this process (`setpriv --pdeathsig`), so it never
 * races with a successor's. @throws ExecError on a status other than 0, on timeout, and when aborted
 */
export function exec(program: string, args: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
  return new Promise((resolve, reject) => {
    const ended = programBegins(program, args);
    const child = execFile(
      'setpriv',
      ['--pdeathsig', 'KILL', '--', program, ...args],
      {
        env: { ...process.env, ...options.env, LC_ALL: 'C' },
        maxBuffer: 64 * 1024 * 1024,
        timeout: options.timeoutMs ?? 60_000,
        killSignal: 'SIGKILL',
        ...(options.signal && { signal: options.signal }),
      },
      (error, stdout, stderr) => {
        if (!error) {
          ended(null);
          resolve({ stdout, stderr });
          return;
        }
        const exitCode = typeof error.code === 'number' ? error.code : null;
        const failure = new ExecError(program, args, exitCode, stderr, stdout, error);
        ended(failure);
        reject(failure);
      },
    );
    child.stdin?.on('error', () => {}); // EPIPE of a program that reads nothing: the exit status has the reason
    child.stdin?.end(options.input ?? '');
  });
}
