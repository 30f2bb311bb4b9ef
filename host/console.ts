import { MayflyError } from '../model/errors.ts';
import { oneLine } from './os/one-line.ts';

export interface ConsoleResult {
  /** Null when a signal ended it. */
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

export interface ConsoleOptions {
  /** Written to standard input. */
  stdin?: string;
  /** What is written must not be seen in the list of the host's processes. */
  isSecret?: boolean;
  /** Milliseconds. `@default` {@link CONSOLE_TIMEOUT_MS} */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Under emulation a process start takes 100 ms, more on a busy host, and a script here starts up to 200. Milliseconds. */
export const CONSOLE_TIMEOUT_MS = 150_000;

/** A way into a running source that needs neither password nor key: its own host. Everything runs as root. */
export interface SourceConsole {
  /**
   * Runs a program by argv.
   * @throws MayflyError source_not_running; prepare_failed when there is no way in; host_unavailable
   */
  run(argv: readonly string[], options?: ConsoleOptions): Promise<ConsoleResult>;
  /** Writes a whole file, in place: not for a file that somebody reads. Throws as {@link run}. */
  writeFile(path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void>;
}

export interface RunningSource {
  console: SourceConsole;
  /** Where its sshd may answer, the likeliest first; whoever answers must prove to be it by its host key. */
  addresses(): Promise<SourceAddress[]>;
}

export interface SourceAddress {
  address: string;
  /** Null: the one its sshd said when it was inspected. */
  port: number | null;
}

/** A script's own "no", with the reason on standard error (sysexits.h, EX_DATAERR). */
const REFUSED = 65;

/**
 * What every script here begins with. `fail` says why it refuses. The lock: a script outlives a host worker that is
 * killed, and its successor's must not run beside it.
 */
const PRELUDE = `set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
export PATH LC_ALL
umask 022
fail() { echo "$1" >&2; exit ${REFUSED}; }
[ -d /etc/ssh ] || fail 'it has no folder /etc/ssh: no OpenSSH server'
command -v flock >/dev/null || fail 'it has no program flock; install util-linux'
exec 9</etc/ssh
flock -w 60 9 || fail 'an earlier step is still running on it'
`;

/**
 * @param script constant text; its data are arguments @returns what it printed @throws MayflyError prepare_failed with
 * the reason it gave
 */
export async function runScript(
  console: SourceConsole,
  script: string,
  args: readonly string[],
  options: ConsoleOptions = {},
): Promise<string> {
  const result = await console.run(['/bin/sh', '-c', `${PRELUDE}${script}`, 'mayfly', ...args], options);
  if (result.exitCode === 0) return result.stdout;
  const said = printable(result.stderr) || printable(result.stdout) || 'it said nothing';
  const how = result.exitCode === REFUSED ? '' : `a script ended with ${result.exitCode ?? 'a signal'}: `;
  throw new MayflyError('prepare_failed', `${how}${said}`);
}

/** What comes from a source is hostile: bounded, and of one line. */
export function printable(text: string): string {
  return oneLine(text).slice(0, 1_000);
}
