import { readdir, readFile, readlink } from 'node:fs/promises';
import { exec } from '../../host/os/exec.ts';

/** `nobody`, by its number. */
const NOBODY = 65_534;

/** Arguments of setpriv(1) for a user without supplementary groups. */
const asUser = (uid: number, gid: number) => ['--reuid', `${uid}`, '--regid', `${gid}`, '--clear-groups', '--'];

/** A user of this machine without any right: `nobody`, in no group but their own. */
const AS_NOBODY = asUser(NOBODY, NOBODY);

const CONNECT = `
import net from 'node:net';
const targets = JSON.parse(process.argv[1]);
const outcome = (target) => new Promise((resolve) => {
  const socket = net.connect(target, () => { resolve('connected'); socket.destroy(); });
  socket.on('error', (error) => resolve(error.code));
});
console.log(JSON.stringify(await Promise.all(targets.map(outcome))));
`;

export type Target = { host: string; port: number } | { path: string };

/** Whether a local user without rights gets a connection: `connected`, or the error's code of each. */
export async function connectAsNobody(targets: readonly Target[], gid = NOBODY): Promise<string[]> {
  return connectAs(NOBODY, gid, targets);
}

/** Connects as {@link connectAsNobody} does, as another user. */
export async function connectAs(uid: number, gid: number, targets: readonly Target[]): Promise<string[]> {
  const node = [process.execPath, '--input-type=module', '-e', CONNECT, JSON.stringify(targets)];
  const { stdout } = await exec('setpriv', [...asUser(uid, gid), ...node]);
  return JSON.parse(stdout) as string[];
}

const READ = `
import { accessSync, constants, readFileSync } from 'node:fs';
const readable = (path) => { try { accessSync(path, constants.R_OK); return true; } catch { return false; } };
console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).filter(readable)));
`;

/** Lists the files such a user can read and the folders they can list below a folder, every name of which they know. */
export async function readableByNobody(folder: string): Promise<string[]> {
  const { stdout: names } = await exec('find', [folder, '-xdev', '!', '-type', 'l', '-printf', '%p\\0']);
  const input = JSON.stringify(names.split('\0').filter((path) => path !== ''));
  const node = [process.execPath, '--input-type=module', '-e', READ];
  const { stdout } = await exec('setpriv', [...AS_NOBODY, ...node], { input });
  return JSON.parse(stdout) as string[];
}

/** Every TCP port, and every Unix socket with a path, on which a process or its children wait for connections. */
export async function listenersOf(root: number): Promise<Target[]> {
  const inodes = new Set<string>();
  for (const pid of await withDescendants(root)) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode !== undefined) inodes.add(inode);
    }
  }
  const tables = await Promise.all(['tcp', 'tcp6', 'unix'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  const [tcp = '', tcp6 = '', unix = ''] = tables;
  return [...tcpListeners(tcp, inodes), ...tcpListeners(tcp6, inodes), ...unixListeners(unix, inodes)];
}

async function withDescendants(root: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])); // proc_pid_stat(5)
  }
  const found = [root];
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child);
  return found;
}

/** State 0A is listening; addresses are hex, IPv4 in host byte order (proc_pid_net(5), and the kernel's tcp_states.h). */
function tcpListeners(table: string, inodes: ReadonlySet<string>): Target[] {
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    if (state !== '0A' || !inodes.has(inode)) return [];
    const [address = '', port = ''] = local.split(':');
    const bytes = (address.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16));
    const host = bytes.length === 4 ? bytes.reverse().join('.') : '::1';
    return [{ host: host === '0.0.0.0' ? '127.0.0.1' : host, port: Number.parseInt(port, 16) }];
  });
}

/** The flag 10000 marks a socket that accepts connections (SO_ACCEPTCON). */
function unixListeners(table: string, inodes: ReadonlySet<string>): Target[] {
  return table.split('\n').flatMap((line) => {
    const [, , , flags, , , inode = '', path] = line.trim().split(/\s+/);
    return flags === '00010000' && inodes.has(inode) && path?.startsWith('/') ? [{ path }] : [];
  });
}
