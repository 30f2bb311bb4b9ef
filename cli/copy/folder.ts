import { constants, type Dirent } from 'node:fs';
import { lstat, open, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { orAbsent } from '../../host/os/absent.ts';
import { compileIgnore } from '../../model/dockerfile/patterns/ignored.ts';
import { END, type TarEntry, tarHeader, tarPadding } from '../../model/image/tar.ts';
import { usageError } from '../terminal/cli-error.ts';

/** Bytes per read of a file. */
const PIECE = 262_144;

/** Entry of a folder; its content is read later. */
export type Found = Omit<TarEntry, 'bytes'> & { size: number };

/**
 * Lists a folder in a fixed order, without the entries that its file of .dockerignore patterns excludes.
 * @param ignoreFile name of that file, which is listed itself; it may be missing
 * @throws CliError for anything but files, folders and links
 */
export async function* listFolder(folder: string, ignoreFile: string): AsyncGenerator<Found> {
  const ignore = (await orAbsent(readFile(join(folder, ignoreFile), 'utf8'))) ?? '';
  const isIgnored = compileIgnore(ignore, ignoreFile);
  for await (const path of pathsOf(folder, '')) {
    if (path === ignoreFile || !isIgnored(path)) yield await entryOf(folder, path, ignoreFile);
  }
}

/** Returns the length of the entries' archive in bytes. */
export function archiveBytes(found: readonly Found[]): number {
  return found.reduce(
    (sum, entry) => sum + tarHeader(entry).length + entry.size + tarPadding(entry.size).length,
    END.length,
  );
}

/** Makes a tar archive without owners and times: the same content gives the same archive. @throws CliError */
export async function* createArchive(folder: string, found: readonly Found[]): AsyncGenerator<Uint8Array> {
  for (const entry of found) {
    yield tarHeader(entry);
    if (entry.type === 'file') yield* contentOf(join(folder, entry.path), entry.size);
    yield tarPadding(entry.size);
  }
  yield END;
}

/** Reads a file whose header already states the size. @throws CliError when the size has changed */
async function* contentOf(path: string, size: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  for await (const piece of file.createReadStream({ highWaterMark: PIECE }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > size) break;
    yield piece;
  }
  if (bytes !== size) throw usageError(`${path} changes while it is read`, 'Run it again when nobody writes there.');
}

async function* pathsOf(folder: string, below: string): AsyncGenerator<string> {
  const found: Dirent[] = await readdir(join(folder, below), { withFileTypes: true });
  for (const each of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === '' ? each.name : `${below}/${each.name}`;
    yield path;
    if (each.isDirectory()) yield* pathsOf(folder, path);
  }
}

async function entryOf(folder: string, path: string, ignoreFile: string): Promise<Found> {
  const full = join(folder, path);
  const stats = await lstat(full);
  const plain = { path, mode: stats.mode & 0o7777, size: 0, link: null };
  if (stats.isDirectory()) return { ...plain, type: 'directory' };
  if (stats.isSymbolicLink()) return { ...plain, type: 'symlink', link: await readlink(full) };
  if (stats.isFile()) return { ...plain, type: 'file', size: stats.size };
  throw usageError(`${full} is neither a file nor a folder nor a link`, `Leave it out by a line of ${ignoreFile}.`);
}
