import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Lists every name below a folder with its type, mode, owner and content, without times. */
export async function describeTree(folder: string): Promise<string[]> {
  const lines: string[] = [];
  for (const entry of (await readdir(folder, { recursive: true })).sort()) {
    const path = join(folder, entry);
    const about = await lstat(path);
    const content = about.isSymbolicLink()
      ? await readlink(path)
      : about.isFile()
        ? createHash('sha256')
            .update(await readFile(path))
            .digest('hex')
        : '';
    lines.push(`${entry} ${about.mode.toString(8)} ${about.uid}:${about.gid} ${content}`);
  }
  return lines;
}
