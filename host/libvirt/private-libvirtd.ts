import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, cp, mkdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MayflyError } from '../../model/errors.ts';
import { exec } from '../exec.ts';
import { names } from './output/tables.ts';
import { Virsh } from './virsh.ts';

/** A libvirtd of our own, beside the host's or where there is none. */
export interface PrivateLibvirtd {
  uri: string;
  /**
   * Ends the daemon. With `machines`, its domains and networks end first, so that no QEMU, dnsmasq or bridge stays;
   * without, they run on, and the next {@link startPrivateLibvirtd} with the same folder finds them again.
   */
  stop(options: { machines: boolean }): Promise<void>;
}

/** libvirt's folders, each with the part of ours that lies over it. */
const FOLDERS = ['run', 'etc', 'lib', 'log', 'cache'] as const;

/**
 * Puts our folders over libvirt's, in a mount namespace that ends with its last process, and becomes libvirtd. The
 * text is fixed; the folder comes as an argument.
 */
const ENTER = `set -e
mount --bind "$1/run" /run/libvirt
mount --bind "$1/etc" /etc/libvirt
mount --bind "$1/lib" /var/lib/libvirt
mount --bind "$1/log" /var/log/libvirt
mount --bind "$1/cache" /var/cache/libvirt
exec libvirtd --daemon --pid-file "$1/libvirtd.pid"`;

/**
 * No cgroup controllers: on a machine without systemd there is none to ask for a scope. QEMU's log is a file, since
 * virtlogd would be one more daemon to keep.
 */
const QEMU_CONF = `
stdio_handler = "file"
cgroup_controllers = [ ]
`;

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 10_000;

/**
 * Starts a private libvirtd in the caller's network namespace, or finds the one that runs on `folder` already. Its
 * domains, networks and leases are its own; VMs outlive it and the process that started it.
 * @param folder absolute path, searchable by everybody on the way (QEMU runs as another user), at most 80 characters
 *   (a socket's path has 107 at most, `unix(7)`)
 * @throws MayflyError host_unavailable when it does not come up.
 */
export async function startPrivateLibvirtd(folder: string): Promise<PrivateLibvirtd> {
  const virsh = new Virsh(`qemu:///system?socket=${folder}/run/libvirt-sock`);
  if ((await daemonPid(folder)) === null) {
    await prepare(folder);
    await enter(folder);
    await answering(virsh, folder);
  }
  return { uri: virsh.uri, stop: ({ machines }) => stop(folder, virsh, machines) };
}

async function prepare(folder: string): Promise<void> {
  const isNew = await access(join(folder, 'etc', 'qemu.conf')).then(
    () => false,
    () => true,
  );
  for (const part of FOLDERS) await mkdir(join(folder, part), { recursive: true, mode: 0o755 });
  for (const part of ['/run/libvirt', '/var/log/libvirt']) await mkdir(part, { recursive: true });
  if (!isNew) return;
  await cp('/etc/libvirt', join(folder, 'etc'), { recursive: true });
  await rm(join(folder, 'etc', 'qemu', 'autostart'), { recursive: true, force: true });
  await rm(join(folder, 'etc', 'qemu', 'networks'), { recursive: true, force: true });
  await writeFile(join(folder, 'etc', 'qemu.conf'), QEMU_CONF);
}

async function enter(folder: string): Promise<void> {
  // its own session and no inherited pipes: the daemon must not end with its starter, nor hold it up
  const child = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', ENTER, 'libvirtd', folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
  const [status] = await once(child, 'exit');
  if (status !== 0) {
    throw new MayflyError('host_unavailable', `A private libvirtd could not be started in ${folder}; see ${folder}/log.`);
  }
}

async function answering(virsh: Virsh, folder: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      await virsh.run(['version']);
      return;
    } catch (error) {
      if (Date.now() > deadline || (await daemonPid(folder)) === null) throw error;
      await delay(50);
    }
  }
}

/** The daemon's pid, when the process of that number is a libvirtd: after a crash the number can be another's. */
async function daemonPid(folder: string): Promise<number | null> {
  const pid = Number(await readFile(join(folder, 'libvirtd.pid'), 'utf8').catch(() => ''));
  if (!Number.isInteger(pid) || pid <= 1) return null;
  const program = await readlink(`/proc/${pid}/exe`).catch(() => '');
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return program.endsWith('/libvirtd') && command.includes(`${folder}/`) ? pid : null;
}

async function stop(folder: string, virsh: Virsh, machines: boolean): Promise<void> {
  const pid = await daemonPid(folder);
  if (pid === null) return;
  if (machines) {
    for (const name of names(await virsh.run(['list', '--name']))) await virsh.run(['destroy', '--', name]);
    for (const name of names(await virsh.run(['net-list', '--name']))) await virsh.run(['net-destroy', '--', name]);
  }
  await exec('kill', ['-TERM', String(pid)]);
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while ((await daemonPid(folder)) !== null) {
    if (Date.now() > deadline) {
      throw new MayflyError('host_unavailable', `The private libvirtd (pid ${pid}) did not end on SIGTERM.`);
    }
    await delay(20);
  }
}
