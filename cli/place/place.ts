import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { exec } from '../../host/os/exec.ts';
import { sendSignal } from '../../host/os/proc.ts';

const PARENT = '/var/tmp';
const OWN_NAME = /^mayfly-(?:demo|bench)-(\d+)(?:-|$)/;
/** Time between SIGTERM and SIGKILL for processes in a namespace, ms. */
const GRACE_MS = 5_000;

const namespaces = z.array(z.object({ name: z.string() }));

/** Isolated network namespace and folder of a demo or benchmark, named after the process that created them. */
export interface IsolatedEnvironment {
  namespace: string;
  /** Below /var/tmp, mode 0711: QEMU, another user, must reach its disks, and no other user may list them. */
  stateDir: string;
}

/** Creates a place, whose network has only loopback. */
export async function createEnvironment(kind: 'demo' | 'bench'): Promise<IsolatedEnvironment> {
  const namespace = `mayfly-${kind}-${process.pid}`;
  const stateDir = await mkdtemp(join(PARENT, `${namespace}-`));
  const place = { namespace, stateDir };
  try {
    await chmod(stateDir, 0o711);
    await exec('ip', ['netns', 'add', namespace]);
    await exec('ip', ['-n', namespace, 'link', 'set', 'lo', 'up']);
    return place;
  } catch (error) {
    await removeEnvironment(place);
    throw error;
  }
}

/**
 * Ends every process in the namespace, then removes namespace and folder. Idempotent.
 * @param graceMs between SIGTERM and SIGKILL, `@default` 5 s
 * @returns number of processes that it ended
 */
export async function removeEnvironment(
  { namespace, stateDir }: IsolatedEnvironment,
  graceMs = GRACE_MS,
): Promise<number> {
  let ended = 0;
  if ((await listNamespaces()).includes(namespace)) {
    ended = (await pidsIn(namespace)).length;
    await endProcesses(namespace, graceMs);
    await exec('ip', ['netns', 'delete', namespace]);
  }
  await rm(stateDir, { recursive: true, force: true });
  return ended;
}

/** Removes places of killed processes. @returns the names */
export async function removeStaleEnvironments(): Promise<string[]> {
  const removed: string[] = [];
  for (const name of await listNamespaces()) {
    if (!isStale(name)) continue;
    await endProcesses(name, GRACE_MS);
    await exec('ip', ['netns', 'delete', name]);
    removed.push(name);
  }
  for (const name of await readdir(PARENT)) {
    if (!isStale(name)) continue;
    await rm(join(PARENT, basename(name)), { recursive: true, force: true });
    removed.push(join(PARENT, name));
  }
  return removed;
}

/** Reports whether the name is a place's and its process has ended; a reused pid only delays the removal. */
function isStale(name: string): boolean {
  const pid = Number(OWN_NAME.exec(name)?.[1] ?? Number.NaN);
  if (!Number.isSafeInteger(pid)) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

async function listNamespaces(): Promise<string[]> {
  const { stdout } = await exec('ip', ['-json', 'netns', 'list']);
  return namespaces.parse(JSON.parse(stdout.trim() || '[]')).map(({ name }) => name);
}

async function pidsIn(namespace: string): Promise<number[]> {
  const { stdout } = await exec('ip', ['netns', 'pids', namespace]);
  return stdout.split('\n').filter(Boolean).map(Number);
}

/** Ends all processes in a namespace: only those started in the place are there. */
async function endProcesses(namespace: string, graceMs: number): Promise<void> {
  const deadline = Date.now() + graceMs;
  for (let pids = await pidsIn(namespace); pids.length > 0; pids = await pidsIn(namespace)) {
    for (const pid of pids) sendSignal(pid, Date.now() < deadline ? 'SIGTERM' : 'SIGKILL');
    await sleep(100);
  }
}
