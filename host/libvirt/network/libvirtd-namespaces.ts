import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import { orAbsent } from '../../os/absent.ts';
import { exec } from '../../os/exec.ts';
import { poll } from '../../os/poll.ts';
import { sendSignal } from '../../os/proc.ts';
import { kvmUsable } from '../client/accel.ts';

/**
 * Script of the first process in the daemon's mount and PID namespaces. It records its outside pid and start time,
 * mounts our folders over libvirt's, and then only reaps: libvirt waits until the pid of an ended QEMU is free, and a
 * container's init may take seconds for that. Killing it ends everything inside. An unusable /dev/kvm is left out,
 * since libvirt would probe QEMU at every define and start for a usable one; a mount over it fails, as libvirt moves
 * mounts below /dev into each QEMU's own. Constant text; the folder is $1.
 */
const HOLD = `set -e
umask 022
read -r pid rest < /proc/self/stat
start=$(cut -d ' ' -f 22 "/proc/$pid/stat")
mount --bind "$1/run" /run/libvirt
mount --bind "$1/etc" /etc/libvirt
mount --bind "$1/lib" /var/lib/libvirt
mount --bind "$1/log" /var/log/libvirt
mount --bind "$1/cache" /var/cache/libvirt
if [ "$2" = no-kvm ] && [ -e /dev/kvm ]; then
  mkdir -p "$1/dev"
  mount -t tmpfs -o mode=0755,nosuid dev "$1/dev"
  for node in /dev/*; do
    case "$node" in /dev/kvm|/dev/pts|/dev/shm|/dev/mqueue|/dev/hugepages) ;; *) cp -a "$node" "$1/dev/" ;; esac
  done
  mkdir "$1/dev/pts" "$1/dev/shm"
  mount --bind /dev/pts "$1/dev/pts"
  mount --bind /dev/shm "$1/dev/shm"
  for old in pts shm mqueue hugepages; do
    while mountpoint -q "/dev/$old"; do umount -l "/dev/$old"; done
  done
  mount --move "$1/dev" /dev
fi
mount -t proc proc /proc
echo "$pid $start" > "$1/holder.new"
mv "$1/holder.new" "$1/holder.pid"
sleep infinity &
wait`;

const TIMEOUT_MS = 30_000;
const POLLING = { everyMs: 5, withinMs: TIMEOUT_MS };

/**
 * Starts namespaces in which `folder` covers libvirt's folders. @returns pid of their first process @throws MayflyError
 * host_unavailable
 */
export async function startNamespaces(folder: string): Promise<number> {
  // its own session and no inherited pipes: it must not end with its starter, nor hold it up
  const options = ['--mount', '--pid', '--fork', '--propagation', 'private'];
  const kvm = (await kvmUsable()) ? 'kvm' : 'no-kvm';
  const child = spawn('unshare', [...options, 'sh', '-c', HOLD, 'mayfly-libvirtd', folder, kvm], {
    stdio: 'ignore',
    detached: true,
  });
  child.unref();
  const look = async () => (await namespacesOf(folder)) ?? (child.exitCode === null ? null : 0);
  const pid = await poll(look, POLLING);
  if (pid) return pid;
  throw new MayflyError('host_unavailable', `A private libvirtd could not be started in ${folder}: is this root?`);
}

/** Returns the pid of the first process of a folder's namespaces; null before a start, and from its end on. */
export async function namespacesOf(folder: string): Promise<number | null> {
  const holder = await holderOf(folder);
  return holder !== null && isFor(folder, await argumentsOf(holder.pid)) ? holder.pid : null;
}

/**
 * Runs a program inside, with a daemon's umask: its files are read by programs that drop root, such as dnsmasq.
 * @throws ExecError when it fails or takes more than 30 s
 */
export async function runInside(holder: number, argv: readonly string[]): Promise<void> {
  const inside = ['--mount', '--pid', '--target', String(holder), '--', 'sh', '-c', 'umask 022; exec "$@"', 'sh'];
  await exec('nsenter', [...inside, ...argv], { timeoutMs: TIMEOUT_MS });
}

/**
 * Kills the first process and with it all that runs inside. Resolves when the last of them has ended, also after a kill
 * by others. A process gives up its arguments first; the first of a namespace then ends all others in it, and its
 * parent, `unshare`, after it (pid_namespaces(7)).
 * @throws MayflyError host_unavailable when they have not ended within 30 s
 */
export async function endNamespaces(folder: string): Promise<void> {
  const holder = await holderOf(folder);
  if (holder === null) return;
  sendSignal(holder.pid, 'SIGKILL');
  const look = async () =>
    ((await holderOf(folder)) === null && !isFor(folder, await argumentsOf(holder.parent))) || null;
  if (await poll(look, POLLING)) return;
  throw new MayflyError('host_unavailable', `A private libvirtd in ${folder} does not end.`);
}

/**
 * Returns the first process, until all others inside have ended. After a reboot its pid may be another's: it is
 * recognized by its arguments, and while ending by its start time, in ticks since boot (proc_pid_stat(5)).
 */
async function holderOf(folder: string): Promise<{ pid: number; parent: number } | null> {
  const file = await orAbsent(readFile(join(folder, 'holder.pid'), 'utf8'));
  const [pid, start] = (file ?? '').trim().split(' ').map(Number);
  if (pid === undefined || !Number.isInteger(pid) || pid <= 1) return null;
  const command = await argumentsOf(pid);
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // from the third on
  const [state = '', parent] = fields;
  const isOurs = command === '' ? Number(fields[19]) === start : isFor(folder, command);
  return isOurs && !['', 'Z', 'X'].includes(state) ? { pid, parent: Number(parent) } : null;
}

/** True for a process of this folder: the first one inside, or `unshare`, which has the same arguments. */
function isFor(folder: string, command: string): boolean {
  return command.includes(`\0mayfly-libvirtd\0${folder}\0`);
}

/** Returns the arguments, each followed by a NUL; empty when the process is missing or ending. */
async function argumentsOf(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
}
