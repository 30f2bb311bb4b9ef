import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { MayflyError } from '../../model/errors.ts';
import { entriesOf } from '../directory.ts';
import { orAbsent } from '../disk/absent.ts';
import { exec } from '../exec.ts';

/** The same tree gives the same bytes: GNU format, which has no times but the modification's, and that is left out. */
const TAR = ['--create', '--file=-', '--format=gnu', '--sort=name', '--numeric-owner', '--mtime=@0'];
const COMPLAINT_CHARACTERS = 500;

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
 * `rm -rf`, but never through a mount: a domain's bind of the host's /usr and /dev lies in a mount namespace of its
 * own; would one ever be visible here, removing it would remove the host's files.
 * @throws MayflyError cleanup_incomplete
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
 * SHA-256, hex, of a tree in the order of its names: names, types, modes, owners, link targets and contents.
 * @throws Error when not all of it can be read; the signal's reason
 */
export async function digestOfTree(root: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'tar', ...TAR, `--directory=${root}`, '.'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    killSignal: 'SIGKILL',
    signal,
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-COMPLAINT_CHARACTERS);
  });
  try {
    const [[status]] = await Promise.all([once(child, 'close'), pipeline(child.stdout, hash)]);
    if (status === 0) return hash.digest('hex');
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  throw new Error(`tar cannot read all of ${root}: ${complaint.replace(/[^\x20-\x7e]+/g, ' ').trim()}`);
}

/**
 * The first of some folders of a tree that is something else, a symbolic link to outside for example; one that is missing
 * is none. Whoever writes into a tree that a guest has written asks first.
 */
export async function firstNotFolder(root: string, folders: readonly string[]): Promise<string | null> {
  for (const folder of folders) {
    const found = await orAbsent(lstat(join(root, folder)));
    if (found && !found.isDirectory()) return folder;
  }
  return null;
}
