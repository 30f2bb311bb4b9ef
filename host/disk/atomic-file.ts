import { rename, writeFile } from 'node:fs/promises';

/** Writes a file that is either there as a whole or not at all, whenever this process is killed. */
export async function writeAtomic(path: string, content: string, mode: number): Promise<void> {
  const fresh = `${path}.new`;
  await writeFile(fresh, content, { mode });
  await rename(fresh, path);
}

/** What `look` returns, or null when the file it looks at is not there. */
export async function orAbsent<T>(look: Promise<T>): Promise<T | null> {
  try {
    return await look;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null;
    throw error;
  }
}
