import { readdir, readFile, readlink } from 'node:fs/promises';
import { exec } from '../../host/os/exec.ts';

/** Uid of `nobody`. */
const NOBODY = 65_534;

/** Arguments of setpriv(1) for a user without supplementary groups. */
const asUser = (uid: number, gid: number) => ['--reuid', `${uid}`, '--regid', `${gid}`, '--clear-groups', '--'];

/** Arguments of setpriv(1) for the unprivileged user `nobody`, in no other group. */
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

/** Connects as a local user without rights. @returns `connected`, or the error code, for each target */
export async function connectAsNobody(targets: readonly Target[], gid = NOBODY): Promise<string[]> {
  return connectAs(NOBODY, gid, targets);
}

/** Connects as {@link connectAsNobody}, as another user. */
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

/** Lists files below a folder that such a user can read, and folders they can list, if they know every name. */
export async function readableByNobody(folder: string): Promise<string[]> {
  const { stdout: names } = await exec('find', [folder, '-xdev', '!', '-type', 'l', '-printf', '%p\\0']);
  const input = JSON.stringify(names.split('\0').filter((path) => path !== ''));
  const node = [process.execPath, '--input-type=module', '-e', READ];
  const { stdout } = await exec('setpriv', [...AS_NOBODY, ...node], { input });
  return JSON.parse(stdout) as string[];
}

/** Lists TCP ports, and Unix sockets with a path, on which a process or its descendants listen. */
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

/** Parses listeners: state 0A; addresses in hex, IPv4 in host byte order (proc_pid_net(5), tcp_states.h). */
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

/** Parses sockets that accept connections: flag 10000 (SO_ACCEPTCON). */
function unixListeners(table: string, inodes: ReadonlySet<string>): Target[] {
  return table.split('\n').flatMap((line) => {
    const [, , , flags, , , inode = '', path] = line.trim().split(/\s+/);
    return flags === '00010000' && inodes.has(inode) && path?.startsWith('/') ? [{ path }] : [];
  });
}
