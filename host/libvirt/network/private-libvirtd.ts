import { spawn } from 'node:child_process';
import { access, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MayflyError } from '../../../model/errors.ts';
import { orAbsent } from '../../disk/absent.ts';
import { exec } from '../../os/exec.ts';
import { kvmUsable } from '../client/accel.ts';
import { Virsh } from '../client/virsh.ts';
import { child, parseXml } from '../client/xml.ts';
import { names } from '../output/tables.ts';
import { openUp } from './firewall.ts';

/** A libvirtd of our own, beside the host's or where there is none. */
export interface PrivateLibvirtd {
  uri: string;
  /** Where its dnsmasq keeps leases, as seen from outside. */
  leaseFolder: string;
  /** Whether nothing of it ran before it was asked for. */
  isNew: boolean;
  /**
   * Ends the daemon. With `machines`, everything it ran ends too: domains, networks, their dnsmasq, the firewall's
   * rules for them. Without, they run on, and the next {@link startPrivateLibvirtd} with the same folder finds them again.
   */
  stop(options: { machines: boolean }): Promise<void>;
}

/** Our folders that lie over libvirt's. */
const FOLDERS = ['run', 'etc', 'lib', 'log', 'cache'] as const;

/**
 * The first process of the daemon's mount and PID namespaces. It says its pid as seen from outside, puts our folders
 * over libvirt's, and then does nothing but reap: libvirt waits for the pid of an ended QEMU to be free again, and a
 * container's init may take seconds for that. When it is killed, all of it ends. A /dev/kvm that can't be used is
 * left out, since libvirt would probe QEMU again at every define and start to see whether it can be used by now; a
 * mount over it would not do, as libvirt moves mounts below /dev into each QEMU's own.
 * The text is fixed; the folder is $1.
 */
const HOLD = `set -e
read -r pid rest < /proc/self/stat
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
echo "$pid" > "$1/holder.new"
mv "$1/holder.new" "$1/holder.pid"
sleep infinity &
wait`;

/**
 * No cgroup controllers: on a machine without systemd there is none to ask for a scope. QEMU's log is a file, since
 * virtlogd would be one more daemon to keep.
 */
const QEMU_CONF = `
stdio_handler = "file"
cgroup_controllers = [ ]
`;

const TIMEOUT_MS = 30_000;

/**
 * Starts a private libvirtd in the caller's network namespace, or finds the one that runs on `folder` already. Its
 * domains, networks and leases are its own; they outlive the process that started it, and leave no mount behind.
 * @param folder absolute path, searchable by everybody on the way (QEMU runs as another user), at most 80 characters
 *   (a socket's path has 107 at most, `unix(7)`)
 * @throws MayflyError host_unavailable when it does not come up.
 */
export async function startPrivateLibvirtd(folder: string): Promise<PrivateLibvirtd> {
  const virsh = new Virsh(uriOf(folder));
  const present = await holderPid(folder);
  await bringUp(present ?? (await hold(folder)), virsh);
  return {
    uri: virsh.uri,
    leaseFolder: leaseFolderOf(folder),
    isNew: present === null,
    stop: ({ machines }) => (machines ? stopAll(folder, virsh) : stopDaemon(folder)),
  };
}

/**
 * Where the private libvirtd of a folder answers, without starting anything. Null when its namespaces are gone, and
 * with them every machine it ran.
 */
export async function findPrivateLibvirtd(folder: string): Promise<{ uri: string } | null> {
  return (await holderPid(folder)) === null ? null : { uri: uriOf(folder) };
}

/** Where a private libvirtd keeps the leases of its networks. */
export function leaseFolderOf(folder: string): string {
  return join(folder, 'lib', 'dnsmasq');
}

/** Where a private libvirtd keeps what it knows of domains, `<name>.xml` each, also when it does not run. */
export function definitionsOf(folder: string): string {
  return join(folder, 'etc', 'qemu');
}

function uriOf(folder: string): string {
  return `qemu:///system?socket=${folder}/run/libvirt-sock`;
}

/** A daemon that was killed keeps its pid file locked until it is gone, and the next one gives up at once then. */
async function bringUp(holder: number, virsh: Virsh): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS;
  const answers = () =>
    virsh.run(['uri']).then(
      () => true,
      () => false,
    );
  while (!(await answers())) {
    try {
      await within(holder, ['libvirtd', '--daemon', '--pid-file', '/run/libvirt/private.pid']);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(50);
    }
  }
}

async function hold(folder: string): Promise<number> {
  for (const part of FOLDERS) await mkdir(join(folder, part), { recursive: true, mode: 0o755 });
  for (const over of ['/run/libvirt', '/var/lib/libvirt', '/var/log/libvirt', '/var/cache/libvirt']) {
    await mkdir(over, { recursive: true });
  }
  const isNew = await access(join(folder, 'etc', 'qemu.conf')).then(
    () => false,
    () => true,
  );
  if (isNew) {
    await cp('/etc/libvirt', join(folder, 'etc'), { recursive: true });
    await rm(definitionsOf(folder), { recursive: true, force: true }); // the host's domains and networks
    await writeFile(join(folder, 'etc', 'qemu.conf'), QEMU_CONF);
  }
  // a runtime folder without its processes (a killed holder, a reboot) would make libvirtd believe in them
  for (const part of ['run', 'holder.pid']) await rm(join(folder, part), { recursive: true, force: true });
  await mkdir(join(folder, 'run'), { mode: 0o755 });
  await removeBridges(folder);
  // its own session and no inherited pipes: it must not end with its starter, nor hold it up
  const options = ['--mount', '--pid', '--fork', '--propagation', 'private'];
  const kvm = (await kvmUsable()) ? 'kvm' : 'no-kvm';
  const child = spawn('unshare', [...options, 'sh', '-c', HOLD, 'mayfly-libvirtd', folder, kvm], {
    stdio: 'ignore',
    detached: true,
  });
  child.unref();
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const pid = await holderPid(folder);
    if (pid !== null) return pid;
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new MayflyError('host_unavailable', `A private libvirtd could not be started in ${folder}: is this root?`);
    }
    await delay(5);
  }
}

/** The pid of the namespaces' first process, if it lives: after a reboot the number can be another's. */
async function holderPid(folder: string): Promise<number | null> {
  const pid = Number(await readFile(join(folder, 'holder.pid'), 'utf8').catch(() => ''));
  if (!Number.isInteger(pid) || pid <= 1) return null;
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return command.includes(`\0mayfly-libvirtd\0${folder}\0`) ? pid : null;
}

async function within(holder: number, argv: readonly string[]): Promise<void> {
  await exec('nsenter', ['--mount', '--pid', '--target', String(holder), '--', ...argv], { timeoutMs: TIMEOUT_MS });
}

async function stopDaemon(folder: string): Promise<void> {
  const holder = await holderPid(folder);
  const pid = Number(await readFile(join(folder, 'run', 'private.pid'), 'utf8').catch(() => ''));
  if (holder === null || !Number.isInteger(pid) || pid <= 1) return;
  await within(holder, ['kill', '-TERM', String(pid)]);
  await gone(join(folder, 'run', 'private.pid'));
}

async function stopAll(folder: string, virsh: Virsh): Promise<void> {
  const holder = await holderPid(folder);
  if (holder === null) return await removeBridges(folder);
  await bringUp(holder, virsh);
  // a network's bridge is no process: it stays in the caller's network namespace unless libvirt removes it
  // and so do the firewall's rules, which are ours
  for (const name of names(await virsh.run(['net-list', '--name']))) {
    const bridge = child(parseXml(await virsh.run(['net-dumpxml', name])), 'bridge')?.attributes['name'];
    await virsh.run(['net-destroy', name]);
    if (bridge !== undefined) await openUp(bridge);
  }
  process.kill(holder, 'SIGKILL');
  const deadline = Date.now() + TIMEOUT_MS;
  while ((await holderPid(folder)) !== null && Date.now() < deadline) await delay(5);
  for (const part of ['run', 'holder.pid']) await rm(join(folder, part), { recursive: true, force: true });
}

/**
 * The bridges of networks whose libvirtd has ended without a word, since its holder was killed: with them there, no
 * network of that address can be started. A bridge is known as ours by its hardware address, which libvirt has made up.
 */
async function removeBridges(folder: string): Promise<void> {
  const definitions = join(definitionsOf(folder), 'networks');
  for (const entry of (await orAbsent(readdir(definitions))) ?? []) {
    if (!entry.endsWith('.xml')) continue; // `autostart` is a folder
    const network = parseXml(await readFile(join(definitions, entry), 'utf8'));
    const bridge = child(network, 'bridge')?.attributes['name'];
    const mac = child(network, 'mac')?.attributes['address'];
    if (bridge === undefined || mac === undefined) continue;
    const address = await orAbsent(readFile(`/sys/class/net/${bridge}/address`, 'utf8'));
    if (address?.trim() !== mac) continue;
    await exec('ip', ['link', 'delete', 'dev', bridge]);
    await openUp(bridge);
  }
}

async function gone(path: string): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS;
  while (
    await access(path).then(
      () => true,
      () => false,
    )
  ) {
    if (Date.now() > deadline) throw new MayflyError('host_unavailable', `The private libvirtd did not end: ${path}.`);
    await delay(10);
  }
}
