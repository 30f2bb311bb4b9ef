import { execFile } from 'node:child_process';
import { rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { sendSignal } from '../../host/os/proc.ts';
import { linkOf, pids, textOf } from './census/proc.ts';
import { type CrashInstallation, PORTS } from './installation.ts';
import type { Part } from './part.ts';

const run = promisify(execFile);

/** Processes to kill by SIGKILL. `machine`: the sandbox's own processes. */
export const VICTIMS = ['host', 'control', 'api', 'temporal', 'store', 'libvirtd', 'machine', 'all'] as const;
/** Other faults. `partition`: Temporal and the store are unreachable. `frozen`: stopped beyond the heartbeat, so that
 * Temporal starts a second attempt. `twice`: a concurrent repeated request. `disk-full`: the host's disk is full. */
export const FAULTS = ['partition', 'frozen', 'twice', 'disk-full'] as const;
export type Victim = (typeof VICTIMS)[number] | (typeof FAULTS)[number];

/** Time beyond the heartbeat of an activity (4 s), ms. */
const FREEZE_MS = 5_500;
const FULL_MS = 2_000;
const SERVERS = [PORTS.temporal, PORTS.store];

export interface Blow {
  mayfly: CrashInstallation;
  /** Process stopped at the point. */
  at: Part;
  /** Downtime of the victim, ms. */
  downMs: number;
  again: () => void;
}

/** Strikes, then resumes the process at the point. @returns false when the point lacks this victim */
export async function strike(victim: Victim, blow: Blow): Promise<boolean> {
  const { mayfly, at, downMs } = blow;
  switch (victim) {
    case 'host':
    case 'control':
    case 'api':
    case 'temporal':
    case 'store':
      await killed([mayfly.parts[victim]], at, downMs);
      return true;
    case 'all':
      await killed(mayfly.all, at, downMs);
      return true;
    case 'machine':
    case 'libvirtd':
      try {
        return killProcesses(victim === 'machine' ? machinesOf(mayfly) : libvirtdOf());
      } finally {
        go(at);
      }
    case 'partition':
      await partitioned(() => goFor(at, FREEZE_MS));
      return true;
    case 'frozen':
      await sleep(FREEZE_MS);
      go(at);
      return true;
    case 'twice':
      blow.again();
      go(at);
      return true;
    case 'disk-full':
      await whileFull(mayfly.hostDir(), () => goFor(at, FULL_MS));
      return true;
  }
}

/** Kills these parts; another process at the point resumes at once. */
async function killed(parts: readonly Part[], at: Part, downMs: number): Promise<void> {
  const names = new Set(parts.map(({ name }) => name));
  const down = Promise.all(parts.map((part) => part.down()));
  if (!names.has(at.name)) go(at);
  await down;
  await sleep(downMs);
  for (const part of parts) part.up();
}

function goFor(part: Part, ms: number): Promise<void> {
  go(part);
  return sleep(ms);
}

function go(part: Part): void {
  part.send('SIGCONT');
}

/** Returns all processes of a simulated machine, or the QEMU of another. */
function machinesOf(mayfly: CrashInstallation): number[] {
  return pids()
    .filter((pid) => {
      const isSimulated = linkOf(pid, 'root').startsWith(`${mayfly.hostDir()}/sandboxes/`);
      return isSimulated || (isHere(pid) && textOf(pid, 'comm').startsWith('qemu-system'));
    })
    .map(Number);
}

function libvirtdOf(): number[] {
  return pids()
    .filter((pid) => isHere(pid) && textOf(pid, 'comm').trim() === 'libvirtd')
    .map(Number);
}

/** Reports whether a process is in this installation's network namespace. */
function isHere(pid: string): boolean {
  return linkOf(pid, 'ns/net') === linkOf('self', 'ns/net');
}

function killProcesses(victims: readonly number[]): boolean {
  for (const pid of victims) sendSignal(pid, 'SIGKILL');
  return victims.length > 0;
}

/** Drops packets to and from both servers, without any error, like a dead switch. */
async function partitioned(act: () => Promise<void>): Promise<void> {
  const ports = `{ ${SERVERS.join(', ')} }`;
  const nft = (text: string) => run('nft', [text]);
  await nft('add table inet crash_partition');
  try {
    await nft('add chain inet crash_partition in { type filter hook input priority 0 ; }');
    await nft(`add rule inet crash_partition in tcp dport ${ports} drop`);
    await nft(`add rule inet crash_partition in tcp sport ${ports} drop`);
    await act();
  } finally {
    await nft('delete table inet crash_partition');
  }
}

async function whileFull(folder: string, act: () => Promise<void>): Promise<void> {
  const ballast = join(folder, 'ballast');
  try {
    const { bavail, bsize } = await statfs(folder);
    await run('fallocate', ['--length', String(bavail * bsize), '--', ballast]).catch(() => null);
    await run('dd', ['if=/dev/zero', `of=${ballast}.rest`, 'bs=4096']).catch(() => null);
    await act();
  } finally {
    for (const file of [ballast, `${ballast}.rest`]) await rm(file, { force: true });
  }
}
