import { chmod, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { CliError } from '../terminal/cli-error.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import { inTheWay, temporaryBeside, unlessAbsent } from './local-file.ts';
import { join, shownPath } from './side.ts';

/** Set-user-id, set-group-id and sticky: a guest gives nobody such rights here. */
const SPECIAL_BITS = 0o7000;

/**
 * Lets `make` fill a directory that nobody else can enter, looks through what it made, and then puts it where it
 * belongs: as a whole when nothing is there, else file by file. A failure of `make` leaves nothing.
 */
export async function writeTree(path: Buffer, make: (directory: Buffer) => Promise<void>): Promise<void> {
  const closed = temporaryBeside(path);
  const tree = join(closed, 'tree');
  await mkdir(closed, { mode: 0o700 });
  try {
    await mkdir(tree, { mode: 0o755 });
    await make(tree);
    await checkTree(tree);
    await settle(tree, path);
  } finally {
    await rm(closed, { recursive: true, force: true });
  }
}

/** @throws CliError when there is anything but files, directories and links */
async function checkTree(path: Buffer): Promise<void> {
  for (const child of await childrenOf(path)) {
    const found = await lstat(child);
    if (found.isSymbolicLink()) continue;
    if (!found.isFile() && !found.isDirectory()) throw refusedEntry(child);
    if ((found.mode & SPECIAL_BITS) !== 0) await chmod(child, found.mode & 0o777);
    if (found.isDirectory()) await checkTree(child);
  }
}

async function settle(from: Buffer, to: Buffer): Promise<void> {
  const present = await lstat(to).catch(unlessAbsent(null));
  const isDirectory = (await lstat(from)).isDirectory();
  if (present && present.isDirectory() !== isDirectory) throw inTheWay(to);
  if (!present || !isDirectory) return rename(from, to);
  for (const child of await childrenOf(from)) await settle(child, join(to, child.subarray(from.length + 1)));
}

async function childrenOf(directory: Buffer): Promise<Buffer[]> {
  const names = await readdir(directory, { encoding: 'buffer' });
  return names.map((name) => join(directory, name));
}

function refusedEntry(path: Buffer): CliError {
  const why = `${shownPath(path)} is a device, a FIFO or a socket`;
  return new CliError(
    EXIT.failed,
    'The sandbox sent what is not copied',
    why,
    'Copy the files you need by themselves.',
  );
}
