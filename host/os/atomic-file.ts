import { type FileHandle, open, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Writes a file so that a reader, also after a crash or a power cut, finds the old content or the whole new one.
 * @param mode permission bits, whatever the umask is; the text goes to `<path>.new` first, so one writer per path
 */
export async function writeFileAtomic(path: string, text: string, mode: number): Promise<void> {
  await writeFilesAtomic(dirname(path), [{ name: basename(path), text, mode }]);
}

/** Writes several files of one folder as {@link writeFileAtomic} does; their new contents appear in the given order. */
export async function writeFilesAtomic(
  folder: string,
  files: readonly { name: string; text: string; mode: number }[],
): Promise<void> {
  await Promise.all(files.map(({ name, text, mode }) => writeFileSynced(join(folder, `${name}.new`), text, mode, 'w')));
  for (const { name } of files) await rename(join(folder, `${name}.new`), join(folder, name));
  await flush(folder);
}

/**
 * Writes a file and syncs its content to disk, but not its name: see {@link flush}.
 * @param mode permission bits, whatever the umask is @param flags `wx` refuses an existing file
 */
export async function writeFileSynced(path: string, text: string, mode: number, flags: 'w' | 'wx'): Promise<void> {
  const write = async (file: FileHandle) => {
    await file.chmod(mode);
    await file.writeFile(text);
    await file.sync();
  };
  await withFile(path, flags, write, mode);
}

/** Syncs a file's content, or a directory's names (a rename, a removal), so that they survive a power cut. */
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
