import { createHash } from 'node:crypto';
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import { orAbsent } from '../../os/absent.ts';
import { entriesOf } from '../../os/directory.ts';
import { exec } from '../../os/exec.ts';
import { tar } from './tar.ts';

/** Options of a reproducible archive: GNU format, which stores no time but the modification's, and that is fixed. */
const TAR = ['--create', '--file=-', '--format=gnu', '--sort=name', '--numeric-owner', '--mtime=@0'];

/**
 * Copies a tree with owners, modes, times, links and special files; where the file system can, blocks are shared.
 * @throws ExecError; the signal's reason
 */
export async function copyTree(from: string, to: string, signal: AbortSignal): Promise<void> {
  try {
    await exec('cp', ['--archive', '--reflink=auto', '--', from, to], { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/**
 * Removes like `rm -rf`, but never through a mount: were a domain's bind of /usr or /dev ever visible here, removing it
 * would remove the host's files. @throws MayflyError cleanup_incomplete
 */
export async function removeTree(path: string): Promise<void> {
  if ((await entriesOf(path)) === null) return;
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').map((line) => line.split(' ')[4] ?? '');
  const inside = mounts.find((mount) => mount === path || mount.startsWith(`${path}/`));
  if (inside) {
    throw new MayflyError(
      'cleanup_incomplete',
      `${path} is not removed, because ${inside} is mounted there. Unmount it.`,
    );
  }
  await exec('rm', ['-rf', '--one-file-system', '--', path]);
}

/**
 * Returns the SHA-256, hex, of a tree in the order of its names: names, types, modes, owners, link targets and
 * contents.
 * @throws Error when not all of it can be read; the signal's reason
 */
export async function digestOfTree(root: string, signal = new AbortController().signal): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const piece of tar([...TAR, `--directory=${root}`, '.'], Buffer.alloc(0), signal)) hash.update(piece);
  } catch (cause) {
    signal.throwIfAborted();
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`tar cannot read all of ${root}: ${why}`, { cause });
  }
  return hash.digest('hex');
}

/**
 * Returns the first existing path that is not a folder, such as a symbolic link to the outside, or null. Must precede a
 * write into a guest's tree.
 */
export async function firstNotFolder(root: string, folders: readonly string[]): Promise<string | null> {
  for (const folder of folders) {
    const found = await orAbsent(lstat(join(root, folder)));
    if (found && !found.isDirectory()) return folder;
  }
  return null;
}
