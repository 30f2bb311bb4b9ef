import { MayflyError } from '../model/errors.ts';
import { oneLine } from './os/one-line.ts';

export interface ConsoleResult {
  /** Null when a signal ended the program. */
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

export interface ConsoleOptions {
  /** Written to standard input. */
  stdin?: string;
  /** Keeps the arguments out of the host's process list. */
  isSecret?: boolean;
  /** Milliseconds. `@default` {@link CONSOLE_TIMEOUT_MS} */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Default timeout, ms. Under emulation a process start takes 100 ms or more, and a script here starts up to 200. */
export const CONSOLE_TIMEOUT_MS = 150_000;

/** Root access to a running source through its own host, without password or key. */
export interface SourceConsole {
  /** Runs a program by argv. @throws MayflyError source_not_running; prepare_failed without access; host_unavailable */
  run(argv: readonly string[], options?: ConsoleOptions): Promise<ConsoleResult>;
  /** Writes a whole file in place: unsafe for a file with concurrent readers. Throws as {@link run}. */
  writeFile(path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void>;
}

export interface RunningSource {
  console: SourceConsole;
  /** Returns addresses of its sshd, likeliest first; the caller must verify the host key. */
  addresses(): Promise<SourceAddress[]>;
}

export interface SourceAddress {
  address: string;
  /** Null: the port found when the source was inspected. */
  port: number | null;
}

/** Exit code of a script that refuses, with the reason on standard error (sysexits.h, EX_DATAERR). */
const EXIT_REFUSED = 65;

/**
 * Start of every script here. `fail` refuses with a reason. The lock keeps a script that outlives its killed host
 * worker from running beside the successor's.
 */
const PRELUDE = `set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
export PATH LC_ALL
umask 022
fail() { echo "$1" >&2; exit ${EXIT_REFUSED}; }
[ -d /etc/ssh ] || fail 'it has no folder /etc/ssh: no OpenSSH server'
command -v flock >/dev/null || fail 'it has no program flock; install util-linux'
exec 9</etc/ssh
flock -w 60 9 || fail 'an earlier step is still running on it'
`;

/**
 * Runs a script as root on the source.
 * @param script constant text; its data are arguments
 * @returns its standard output @throws MayflyError prepare_failed with the script's reason
 */
export async function runScript(
  console: SourceConsole,
  script: string,
  args: readonly string[],
  options: ConsoleOptions = {},
): Promise<string> {
  const result = await console.run(['/bin/sh', '-c', `${PRELUDE}${script}`, 'mayfly', ...args], options);
  if (result.exitCode === 0) return result.stdout;
  const said = toPrintable(result.stderr) || toPrintable(result.stdout) || 'it said nothing';
  const how = result.exitCode === EXIT_REFUSED ? '' : `a script ended with ${result.exitCode ?? 'a signal'}: `;
  throw new MayflyError('prepare_failed', `${how}${said}`);
}

/** Returns hostile text of a source as one line of at most 1,000 characters. */
export function toPrintable(text: string): string {
  return oneLine(text).slice(0, 1_000);
}
