import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname } from 'node:path';

/** Third-party server run by Mayfly: Temporal's dev server, the store. */
export interface ServerProcess {
  address: string;
  pid: number;
  /** Resolves with a sentence when the process has ended on its own. */
  died: Promise<string>;
  /** Sends SIGTERM, and SIGKILL after 10 s. */
  stop(): Promise<void>;
}

const STOP_MS = 10_000;

/**
 * Starts a server that ends with this process (`setpriv --pdeathsig`), even if this process is killed, so the next
 * start finds its files unlocked. Its own process group protects it from a Ctrl-C at the terminal until its users have
 * ended. Standard error goes to the log file, whose folder is the working directory.
 * @param group `@default` this process's group
 */
export function startServer(program: string, args: string[], logFile: string, group?: number): ChildProcess {
  const log = openSync(logFile, 'a', 0o600);
  try {
    const argv = [...(group === undefined ? [] : joinGroup(group)), '--pdeathsig', 'TERM', '--', program, ...args];
    return spawn('setpriv', argv, { stdio: ['ignore', 'pipe', log], detached: true, cwd: dirname(logFile) });
  } finally {
    closeSync(log);
  }
}

/** Returns setpriv(1) arguments for a primary group that need not be in /etc/group. The other groups stay. */
export function joinGroup(group: number): string[] {
  return ['--regid', String(group), '--keep-groups'];
}

export function serverProcess(child: ChildProcess, address: string, name: string): ServerProcess {
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : Promise.resolve();
  return {
    address,
    pid: child.pid ?? -1,
    died: ended.then(() => `${name} ended (exit ${child.exitCode ?? child.signalCode})`),
    async stop() {
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      child.kill('SIGTERM');
      await ended;
      clearTimeout(force);
    },
  };
}

/** Returns a TCP port of a loopback address that was free a moment ago. */
export async function freePort(address: string): Promise<number> {
  const server = createServer().listen(0, address);
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('a TCP server has no port');
  server.close();
  await once(server, 'close');
  return bound.port;
}

/** Bytes at the end of a log that are searched for the reason of an end. */
const LAST_BYTES = 500;

/**
 * Returns the last line of a server's log. @param from offset of this start in the log; the bytes before it belong to
 * an earlier start
 */
export async function readLastLine(logFile: string, from: number): Promise<string> {
  const log = await open(logFile);
  try {
    const { size } = await log.stat();
    const start = Math.max(from, size - LAST_BYTES);
    const { buffer, bytesRead } = await log.read(Buffer.alloc(LAST_BYTES), 0, LAST_BYTES, start);
    return buffer.toString('utf8', 0, bytesRead).trimEnd().split('\n').at(-1) || 'it said nothing';
  } finally {
    await log.close();
  }
}

/** Returns the size of a log in bytes; 0: there is none yet. */
export function sizeOf(logFile: string): number {
  return statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
}
