import { open, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Writes a file so that a reader, also after a crash or a power cut, finds either the old content or the whole new
 * one. The text goes to `<path>.new` first, so one writer per path.
 * @param mode permission bits of the file; not touched by the umask
 */
export async function writeFileAtomic(path: string, text: string, mode: number): Promise<void> {
  await writeFilesAtomic(dirname(path), [{ name: basename(path), text, mode }]);
}

/** As {@link writeFileAtomic}, several files of one folder: their new contents come in the order in which they are given. */
export async function writeFilesAtomic(
  folder: string,
  files: readonly { name: string; text: string; mode: number }[],
): Promise<void> {
  await Promise.all(files.map(({ name, text, mode }) => writeFileSynced(join(folder, `${name}.new`), text, mode, 'w')));
  for (const { name } of files) await rename(join(folder, `${name}.new`), join(folder, name));
  await syncDirectory(folder);
}

/**
 * Writes a file down to the disk; its name is another matter, see {@link syncDirectory}.
 * @param mode permission bits of the file; not touched by the umask
 * @param flags `wx` refuses a file that is there
 */
export async function writeFileSynced(path: string, text: string, mode: number, flags: 'w' | 'wx'): Promise<void> {
  const file = await open(path, flags, mode);
  try {
    await file.chmod(mode);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Has what anybody wrote to a file survive a power cut. */
export async function flushFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes the names in a directory (a rename, a removal) survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
