import { constants, type Dirent } from 'node:fs';
import { lstat, open, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoredBy } from '../../model/dockerfile/ignored.ts';
import { type TarEntry, tarOf } from '../../model/image/tar.ts';
import { LIMITS } from '../../model/limits.ts';
import { usageError } from '../terminal/cli-error.ts';

const { contextBytes, contextEntries } = LIMITS.image;

/** A folder as an archive in base64, without what its `.dockerignore` leaves out. @throws CliError */
export async function contextOf(folder: string): Promise<string> {
  const ignore = await readFile(join(folder, '.dockerignore'), 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  const isIgnored = ignoredBy(ignore);
  const entries: TarEntry[] = [];
  let bytes = 0;
  for await (const path of pathsOf(folder, '')) {
    if (path !== '.dockerignore' && isIgnored(path)) continue;
    const entry = await entryOf(folder, path, contextBytes - bytes);
    bytes += entry.bytes.length;
    entries.push(entry);
    if (entries.length > contextEntries) throw tooLarge(folder, `${contextEntries} entries`);
  }
  const archive = tarOf(entries);
  if (archive.length > contextBytes) throw tooLarge(folder, `${contextBytes} bytes`);
  return Buffer.from(archive).toString('base64');
}

async function* pathsOf(folder: string, below: string): AsyncGenerator<string> {
  const found: Dirent[] = await readdir(join(folder, below), { withFileTypes: true });
  for (const each of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === '' ? each.name : `${below}/${each.name}`;
    yield path;
    if (each.isDirectory()) yield* pathsOf(folder, path);
  }
}

async function entryOf(folder: string, path: string, room: number): Promise<TarEntry> {
  const full = join(folder, path);
  const stats = await lstat(full);
  const plain = { path, mode: stats.mode & 0o7777, bytes: new Uint8Array(), link: null };
  if (stats.isDirectory()) return { ...plain, type: 'directory' };
  if (stats.isSymbolicLink()) return { ...plain, type: 'symlink', link: await readlink(full) };
  if (!stats.isFile()) {
    throw usageError(`${full} is neither a file nor a folder nor a link`, 'Leave it out by a line of .dockerignore.');
  }
  if (stats.size > room) throw tooLarge(folder, `${contextBytes} bytes`);
  const file = await open(full, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return { ...plain, type: 'file', bytes: await file.readFile() };
  } finally {
    await file.close();
  }
}

function tooLarge(folder: string, most: string): Error {
  return usageError(
    `the context ${folder} has more than ${most}`,
    'Leave some of it out by .dockerignore, or have RUN fetch it.',
  );
}
