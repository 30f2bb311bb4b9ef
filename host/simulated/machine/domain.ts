import { type ChildProcess, spawn } from 'node:child_process';
import { open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import { orAbsent } from '../../os/absent.ts';
import { oneLine } from '../../os/one-line.ts';
import { poll } from '../../os/poll.ts';
import { sendSignal } from '../../os/proc.ts';
import { firstNotFolder } from '../disk/tree.ts';
import { GUEST_USER } from './image.ts';
import { GUEST_PORT } from './leases.ts';
import { childOf, type ProcessTable, rootOf } from './processes.ts';

/**
 * Script run before a domain's sshd, as process 1 of its own PID, mount and UTS namespaces. Constant: id, paths and
 * address are arguments. A disk without /usr gets the host's. A killed guest agent is restarted, as systemd does in
 * real machines.
 */
export const BOOT_SCRIPT = `set -eu
if [ ! -e "$1/usr/bin" ]; then
  mount --bind -o ro /usr "$1/usr"
  if [ -d /etc/alternatives ]; then mount --bind -o ro /etc/alternatives "$1/etc/alternatives"; fi
fi
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
printf %s "$2" > /proc/sys/kernel/hostname
if [ -n "$5" ]; then
  mkdir -p "$1/opt/mayfly"
  mount --bind -o ro "$5" "$1/opt/mayfly"
  until chroot "$1" /opt/mayfly/mayfly-agent serve --user "$6" --cgroup ''; do sleep 1; done &
fi
exec chroot "$1" /usr/sbin/sshd -D -e -o "ListenAddress=$3:$4"`;

/** Mount points of {@link BOOT_SCRIPT}, with parents: mount follows links as the host's root, and guests make links. */
const MOUNT_POINTS = ['usr', 'etc', 'etc/alternatives', 'dev', 'proc', 'opt', 'opt/mayfly'];
const NAMESPACES = ['--pid', '--fork', '--mount', '--uts', '--kill-child'];
/** Status of flock(1) when another process boots or runs the same domain. */
const LOCKED = 75;
const POLL_MS = 5;
/** Timeout of a few mounts and an exec; beyond, the machine is stuck. Milliseconds. */
const START_TIMEOUT_MS = 30_000;
/** Timeout of SIGKILL; beyond, a process hangs in the kernel. Milliseconds. */
const KILL_TIMEOUT_MS = 10_000;
const CONSOLE_TAIL_CHARACTERS = 500;

export interface DomainPaths {
  workspace: string;
  /** Disk; root directory of all the domain's processes. */
  root: string;
}

interface BootPaths extends DomainPaths {
  /** Folder of the host with the guest agent, mounted in the guest at /opt/mayfly; null: no agent. */
  agentFolder: string | null;
}

/**
 * Starts a domain in a session that outlives this process. A lock on a file of its workspace, held as long as it lives,
 * prevents a second one. @throws MayflyError boot_failed with the end of the console
 */
export async function startDomain(
  sandboxId: string,
  paths: BootPaths,
  address: string,
  processes: ProcessTable,
  signal: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  // Without the lock file no boot has started.
  let isNew = (await orAbsent(stat(lockOf(paths)))) === null;
  while (isNew || !(await processes.runs(sandboxId))) {
    isNew = false;
    signal.throwIfAborted();
    const wrong = await firstNotFolder(paths.root, MOUNT_POINTS);
    if (wrong) throw new MayflyError('boot_failed', `/${wrong} on the disk of ${sandboxId} is not a directory.`);
    const child = await spawnDomain(sandboxId, paths, address);
    const status = await awaitRootOrEnd(child, paths.root, deadline);
    if (typeof status === 'object') return processes.remember(sandboxId, status.pid);
    if (status !== LOCKED) {
      throw new MayflyError(
        'boot_failed',
        `${sandboxId} ended with ${status} while it booted: ${await consoleTail(paths)}`,
      );
    }
  }
}

/**
 * Kills all processes of the domain and waits until the kernel shows none.
 * @throws MayflyError cleanup_incomplete when a process does not go
 */
export async function killDomain(sandboxId: string, processes: ProcessTable): Promise<void> {
  const look = async () => {
    const pids = await processes.of(sandboxId);
    for (const pid of pids) sendSignal(pid, 'SIGKILL');
    return pids.length === 0 || null;
  };
  if (await poll(look, { everyMs: 0, withinMs: KILL_TIMEOUT_MS })) return;
  const pids = await processes.of(sandboxId);
  throw new MayflyError('cleanup_incomplete', `Processes of ${sandboxId} survive SIGKILL: ${pids.join(', ')}.`);
}

/** Returns the end of the domain's console as printable text, since it comes from the guest. */
export async function consoleTail(paths: DomainPaths): Promise<string> {
  const text = await orAbsent(readFile(join(paths.workspace, 'console.log'), 'utf8'));
  if (text === null) return 'it has no console';
  return oneLine(text.slice(-CONSOLE_TAIL_CHARACTERS)) || 'its console is empty';
}

async function spawnDomain(sandboxId: string, paths: BootPaths, address: string): Promise<ChildProcess> {
  const log = await open(join(paths.workspace, 'console.log'), 'a', 0o600);
  try {
    const guest = [paths.root, sandboxId, address, String(GUEST_PORT), paths.agentFolder ?? '', GUEST_USER.name];
    const boot = ['sh', '-c', BOOT_SCRIPT, 'sh', ...guest];
    const lock = ['--nonblock', '--conflict-exit-code', String(LOCKED), '--no-fork', lockOf(paths)];
    const child = spawn('flock', [...lock, 'unshare', ...NAMESPACES, ...boot], {
      cwd: '/',
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin', LC_ALL: 'C' },
    });
    child.unref();
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (cause) => {
        reject(new MayflyError('boot_failed', `flock(1) of util-linux cannot be run: ${cause.message}`, { cause }));
      });
    });
    return child;
  } finally {
    await log.close();
  }
}

function lockOf({ workspace }: DomainPaths): string {
  return join(workspace, 'domain.lock');
}

/** Resolves when process 1 of the domain has the disk as its root directory, or with its exit status. */
async function awaitRootOrEnd(
  child: ChildProcess,
  root: string,
  deadline: number,
): Promise<{ pid: number } | number | NodeJS.Signals> {
  const look = () => {
    const ended = child.exitCode ?? child.signalCode;
    if (ended !== null) return ended;
    const init = child.pid === undefined ? null : childOf(child.pid);
    return init !== null && rootOf(init) === root ? { pid: init } : null;
  };
  const found = await poll(look, { everyMs: POLL_MS, withinMs: deadline - Date.now() });
  if (found !== null) return found;
  throw new MayflyError('boot_failed', `The domain's first process did not start within ${START_TIMEOUT_MS / 1000} s.`);
}
