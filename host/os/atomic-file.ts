import { type FileHandle, open, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Writes a file so that a reader, also after a crash or a power cut, finds the old content or the whole new one.
 * @param mode permission bits, whatever the umask is; the text goes to `<path>.new` first, so one writer per path
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
  await flush(folder);
}

/**
 * Writes a file down to the disk; its name is another matter, see {@link flush}.
 * @param mode permission bits, whatever the umask is @param flags `wx` refuses a file that is there
 */
export async function writeFileSynced(path: string, text: string, mode: number, flags: 'w' | 'wx'): Promise<void> {
  const write = async (file: FileHandle) => {
    await file.chmod(mode);
    await file.writeFile(text);
    await file.sync();
  };
  await withFile(path, flags, write, mode);
}

/** Makes what anybody wrote to a file, or the names in a directory (a rename, a removal), survive a power cut. */
export async function flush(path: string): Promise<void> {
  await withFile(path, 'r', (file) => file.sync());
}

export async function withFile<T>(
  path: string | Buffer,
  flags: string | number,
  use: (file: FileHandle) => Promise<T>,
  mode?: number,
): Promise<T> {
  const file = await open(path, flags, mode);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}
