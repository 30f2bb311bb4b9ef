import { readdir } from 'node:fs/promises';

/** The names in a directory, or null when there is no such directory. Any other failure is thrown. */
export async function entriesOf(path: string): Promise<string[] | null> {
  try {
    return await readdir(path);
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

/** Whether a file system call failed because the path is not there (ENOENT). */
export function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
