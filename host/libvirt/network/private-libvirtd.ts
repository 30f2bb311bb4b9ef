import { randomUUID } from 'node:crypto';
import { chmod, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MayflyError } from '../../../model/errors.ts';
import { readMachineId } from '../../installation.ts';
import { orAbsent, succeeds } from '../../os/absent.ts';
import { writeFileAtomic } from '../../os/atomic-file.ts';
import { isThere, makePrivate } from '../../os/directory.ts';
import { exec } from '../../os/exec.ts';
import { poll } from '../../os/poll.ts';
import { Virsh } from '../client/virsh.ts';
import { child, parseXml } from '../client/xml.ts';
import { names } from '../output/tables.ts';
import { removeFirewall } from './firewall.ts';
import { endNamespaces, namespacesOf, runInside, startNamespaces } from './libvirtd-namespaces.ts';

export interface PrivateLibvirtd {
  uri: string;
  /** Folder of its dnsmasq's leases, as seen from outside. */
  leaseFolder: string;
  isNew: boolean;
  /**
   * Ends the daemon. With `machines`, everything it ran ends too: domains, networks, their dnsmasq, the firewall's
   * rules for them. Without, they run on, and the next {@link startPrivateLibvirtd} with the same folder finds them
   * again.
   */
  stop(options: { machines: boolean }): Promise<void>;
}

const SOCKET = 'run/libvirt-sock';
/**
 * Limit of a folder's path, bytes: the longest socket below it is `run/libvirt-admin-sock`, and a socket's path has 107
 * (unix(7)).
 */
const MAX_FOLDER = 80;

/** @throws MayflyError host_unavailable, which names the setting */
function assertUsable(folder: string): void {
  const why =
    Buffer.byteLength(folder) > MAX_FOLDER
      ? `has ${Buffer.byteLength(folder)} bytes, and may have ${MAX_FOLDER}`
      : /[\p{Cc}]/u.test(folder)
        ? 'has a control character'
        : null;
  if (why === null) return;
  throw new MayflyError(
    'host_unavailable',
    `The folder of the private libvirtd, ${JSON.stringify(folder)}, ${why}: choose another MAYFLY_STATE_DIR.`,
  );
}

/** Folders mounted over libvirt's. */
const FOLDERS = ['run', 'etc', 'lib', 'log', 'cache'] as const;

/**
 * Disables cgroup controllers: without systemd nothing makes a scope, and with it libvirt would name another process.
 * QEMU's log is a file, since virtlogd would be one more daemon to keep.
 */
const QEMU_CONF = `
stdio_handler = "file"
cgroup_controllers = [ ]
`;

const TIMEOUT_MS = 30_000;

/**
 * Starts a private libvirtd in the caller's network namespace, or finds the running one of `folder`. Its domains,
 * networks and leases are its own; they outlive the process that started it, and leave no mount behind.
 * @param folder absolute path; restricted to our user, since programs inside see its parts at libvirt's usual paths
 * @throws MayflyError host_unavailable when it does not start, or when the path is longer than its sockets allow
 */
export async function startPrivateLibvirtd(folder: string): Promise<PrivateLibvirtd> {
  assertUsable(folder);
  const virsh = new Virsh(uriOf(folder));
  await makePrivate(folder);
  const present = await namespacesOf(folder);
  const isNew = present === null || !(await ensureDaemon(folder, present, virsh));
  if (isNew && !(await ensureDaemon(folder, await prepare(folder), virsh))) {
    throw new MayflyError('host_unavailable', `What holds the private libvirtd of ${folder} was ended as it started.`);
  }
  return {
    uri: virsh.uri,
    leaseFolder: leaseFolderOf(folder),
    isNew,
    stop: ({ machines }) => (machines ? endPrivateLibvirtd(folder) : stopDaemon(folder)),
  };
}

/**
 * Returns the URI of a folder's private libvirtd, without starting anything. Null when its namespaces have ended, with
 * every machine it ran.
 */
export async function findPrivateLibvirtd(folder: string): Promise<{ uri: string } | null> {
  return (await namespacesOf(folder)) === null ? null : { uri: uriOf(folder) };
}

/** Returns the folder of the leases of a private libvirtd's networks. */
export function leaseFolderOf(folder: string): string {
  return join(folder, 'lib', 'dnsmasq');
}

/** Returns the folder of a private libvirtd's domains, `<name>.xml` each, readable without the daemon. */
export function definitionsOf(folder: string): string {
  return join(folder, 'etc', 'qemu');
}

function uriOf(folder: string): string {
  const socket = join(folder, SOCKET).split('/').map(encodeURIComponent).join('/');
  return `qemu:///system?socket=${socket}`;
}

/**
 * Starts the daemon, with retries: a killed daemon keeps its pid file locked until its end, and the next one fails
 * then.
 * @returns false when its namespaces are ending: a killed holder takes a moment
 */
async function ensureDaemon(folder: string, holder: number, virsh: Virsh): Promise<boolean> {
  await configure(folder);
  const deadline = Date.now() + TIMEOUT_MS;
  while (!(await succeeds(virsh.run(['uri'])))) {
    try {
      await runInside(holder, ['libvirtd', '--daemon', '--pid-file', '/run/libvirt/private.pid']);
    } catch (error) {
      if ((await namespacesOf(folder)) !== holder) return false;
      if (Date.now() > deadline) throw error;
      await delay(50);
    }
  }
  return true;
}

async function prepare(folder: string): Promise<number> {
  for (const part of FOLDERS) await makeOpen(join(folder, part));
  for (const over of ['/run/libvirt', '/var/lib/libvirt', '/var/log/libvirt', '/var/cache/libvirt']) {
    await mkdir(over, { recursive: true });
  }
  if (!(await isThere(join(folder, 'etc', 'qemu.conf')))) {
    await cp('/etc/libvirt', join(folder, 'etc'), { recursive: true });
    await rm(definitionsOf(folder), { recursive: true, force: true }); // the host's domains and networks
    await writeFile(join(folder, 'etc', 'qemu.conf'), QEMU_CONF);
  }
  await endNamespaces(folder); // a killed holder's, which are still ending
  // a runtime folder without its processes (a killed holder, a reboot) would make libvirtd believe in them
  for (const part of ['run', 'holder.pid']) await rm(join(folder, part), { recursive: true, force: true });
  await makeOpen(join(folder, 'run'));
  await removeBridges(folder);
  return startNamespaces(folder);
}

/** Opens a folder to daemons inside that drop root; other users outside are stopped by its parent. */
async function makeOpen(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
}

/** Settings of the sockets' permissions. Access to them is equivalent to root, so only root may have it. */
const SOCKET_PERMS = ['unix_sock_ro_perms', 'unix_sock_rw_perms', 'unix_sock_admin_perms'];

/**
 * Writes libvirtd's configuration. Where a machine's firmware has no UUID, libvirt generates one at each start: instead
 * it uses the machine's own id, or where there is none, one that is generated once.
 */
async function configure(folder: string): Promise<void> {
  const path = join(folder, 'etc', 'libvirtd.conf');
  const before = (await orAbsent(readFile(path, 'utf8'))) ?? '';
  const kept = before.split('\n').filter((line) => !SOCKET_PERMS.some((name) => line.startsWith(name)));
  const closed = SOCKET_PERMS.map((name) => `${name} = "0700"`);
  const named = (await readMachineId()) === null ? `host_uuid = "${randomUUID()}"` : 'host_uuid_source = "machine-id"';
  const isNamed = kept.some((line) => line.startsWith('host_uuid'));
  const settings = [...kept, ...(isNamed ? [] : [named]), ...closed];
  await writeFileAtomic(path, `${settings.join('\n').trim()}\n`, 0o644);
}

async function stopDaemon(folder: string): Promise<void> {
  const holder = await namespacesOf(folder);
  const pid = Number(await readFile(join(folder, 'run', 'private.pid'), 'utf8').catch(() => ''));
  if (holder === null || !Number.isInteger(pid) || pid <= 1) return;
  await runInside(holder, ['kill', '-TERM', String(pid)]);
  const look = async () => !(await isThere(join(folder, 'run', 'private.pid'))) || null;
  if (await poll(look, { everyMs: 10, withinMs: TIMEOUT_MS })) return;
  throw new MayflyError('host_unavailable', `The private libvirtd of ${folder} did not end.`);
}

/** Ends a private libvirtd with all that it runs, and the remains of a killed one. */
export async function endPrivateLibvirtd(folder: string): Promise<void> {
  const virsh = new Virsh(uriOf(folder));
  const holder = await namespacesOf(folder);
  if (holder === null || !(await ensureDaemon(folder, holder, virsh))) {
    await endNamespaces(folder);
    return await removeBridges(folder);
  }
  // a network's bridge and the firewall's rules stay in the caller's network namespace unless removed here
  for (const name of names(await virsh.run(['net-list', '--name']))) {
    const bridge = child(parseXml(await virsh.run(['net-dumpxml', name])), 'bridge')?.attributes['name'];
    await virsh.run(['net-destroy', name]);
    if (bridge !== undefined) await removeFirewall(bridge);
  }
  await endNamespaces(folder);
  for (const part of ['run', 'holder.pid']) await rm(join(folder, part), { recursive: true, force: true });
}

/**
 * Removes bridges of networks whose libvirtd was killed with its holder: while they exist, no network of that address
 * can start. A bridge is ours if it has the hardware address that libvirt generated.
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
    await removeFirewall(bridge);
  }
}
