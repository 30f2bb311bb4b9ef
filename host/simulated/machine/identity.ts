import { lstat, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { orAbsent } from '../../os/absent.ts';
import { firstNotFolder } from '../disk/tree.ts';

/** Files of one machine's identity, from a clone's seed or its own. */
const OWN = [
  'etc/machine-id',
  'etc/hostname',
  'etc/hosts',
  'etc/ssh/sshd_config',
  'etc/ssh/mayfly',
  'etc/ssh/sshd_config.d/00-mayfly.conf',
  'var/lib/dbus/machine-id',
  'var/lib/systemd/random-seed',
  'var/lib/mayfly',
];
/** Folders that are emptied, not removed. */
const EMPTIED = ['tmp', 'var/tmp', 'var/log', 'var/lib/cloud', 'var/lib/dhcp', 'var/lib/NetworkManager', 'run/mayfly'];
/** Names in `etc/ssh`: host keys, the CA and the principals. */
const OWN_IN_SSH = /^(?:ssh_host_|mayfly_)/;
const HISTORY = /^\.(?:\w+_history|histfile|lesshst|viminfo)$/;

/**
 * Removes the identity from the tree of a machine that is off. A guest has written the tree: no link in it is followed,
 * and files behind one are skipped.
 */
export async function cleanTree(root: string): Promise<void> {
  for (const path of OWN) await removeInside(root, path);
  for (const folder of EMPTIED) await removeMatching(root, folder, /^/);
  await removeMatching(root, 'etc/ssh', OWN_IN_SSH);
  for (const home of ['root', ...(await folderIn(root, 'home')).map((name) => join('home', name))]) {
    await removeMatching(root, home, HISTORY);
  }
}

async function removeMatching(root: string, folder: string, names: RegExp): Promise<void> {
  for (const name of await folderIn(root, folder)) {
    if (names.test(name)) await removeInside(root, join(folder, name));
  }
}

/** Returns the names in a folder of the tree; none where it is missing, or no folder. */
async function folderIn(root: string, folder: string): Promise<string[]> {
  if (!(await leadsInside(root, folder))) return [];
  const found = await orAbsent(lstat(join(root, folder)));
  return found?.isDirectory() ? readdir(join(root, folder)) : [];
}

async function removeInside(root: string, path: string): Promise<void> {
  if (await leadsInside(root, path)) await rm(join(root, path), { recursive: true, force: true });
}

async function leadsInside(root: string, path: string): Promise<boolean> {
  const above: string[] = [];
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) above.unshift(folder);
  return (await firstNotFolder(root, above)) === null;
}
