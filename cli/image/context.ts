import { createHash } from 'node:crypto';
import { constants, type Dirent } from 'node:fs';
import { lstat, open, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { BuildImage, Images } from '../../client/images.ts';
import { ignoredBy } from '../../model/dockerfile/patterns/ignored.ts';
import { END, headOf, paddingOf, type TarEntry } from '../../model/image/tar.ts';
import { LIMITS } from '../../model/limits.ts';
import { usageError } from '../terminal/cli-error.ts';
import type { Io } from '../terminal/io.ts';

const { contextBytes, sentContextBytes, contextEntries } = LIMITS.image;
const MIB = 1_048_576;
/** Of a file that is read, bytes. */
const PIECE = 262_144;

/** What a build is asked with of its folder. */
export type AskedContext = Pick<BuildImage, 'context' | 'contextDigest'>;

/**
 * A folder, without what its `.dockerignore` leaves out: as it stands in the request, or, where that has no room for it, sent
 * before, unless it is there.
 * @throws CliError
 */
export async function contextOf(io: Io, images: Images, folder: string): Promise<AskedContext> {
  const found = await foundIn(folder);
  const bytes = found.reduce(
    (sum, entry) => sum + headOf(entry).length + entry.size + paddingOf(entry.size).length,
    END.length,
  );
  if (bytes > sentContextBytes) throw tooLarge(folder, `${sentContextBytes} bytes`);
  if (bytes <= contextBytes) {
    const pieces: Uint8Array[] = [];
    for await (const piece of archiveOf(folder, found)) pieces.push(piece);
    return { context: Buffer.concat(pieces).toString('base64') };
  }
  const { signal } = io;
  try {
    const hash = createHash('sha256');
    for await (const piece of told(io, 'reading the context', bytes, archiveOf(folder, found))) {
      signal.throwIfAborted();
      hash.update(piece);
    }
    const contextDigest = hash.digest('hex');
    if (!(await images.hasContext(contextDigest, { signal }))) {
      const archive = Readable.from(told(io, 'sending the context', bytes, archiveOf(folder, found)), {
        objectMode: false,
      });
      await images.sendContext(contextDigest, Readable.toWeb(archive) as ReadableStream<Uint8Array>, { signal });
    }
    return { contextDigest };
  } finally {
    io.endNoteForNow();
  }
}

type Found = Omit<TarEntry, 'bytes'> & { size: number };

async function foundIn(folder: string): Promise<Found[]> {
  const ignore = await readFile(join(folder, '.dockerignore'), 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  const isIgnored = ignoredBy(ignore);
  const entries: Found[] = [];
  for await (const path of pathsOf(folder, '')) {
    if (path !== '.dockerignore' && isIgnored(path)) continue;
    entries.push(await entryOf(folder, path));
    if (entries.length > contextEntries) throw tooLarge(folder, `${contextEntries} entries`);
  }
  return entries;
}

async function* archiveOf(folder: string, found: readonly Found[]): AsyncGenerator<Uint8Array> {
  for (const entry of found) {
    yield headOf(entry);
    if (entry.type === 'file') yield* contentOf(join(folder, entry.path), entry.size);
    yield paddingOf(entry.size);
  }
  yield END;
}

/** Its length stands in the archive before it. @throws CliError */
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

/** Says how far it is, when that has become a percent more. */
async function* told(
  io: Io,
  doing: string,
  bytes: number,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let done = 0;
  let percent = -1;
  for await (const piece of pieces) {
    yield piece;
    done += piece.length;
    const now = Math.floor((done / bytes) * 100);
    if (now > percent) io.noteForNow(io.paint('dim', `  ${doing}: ${now} % of ${Math.ceil(bytes / MIB)} MiB …`));
    percent = now;
  }
}

async function* pathsOf(folder: string, below: string): AsyncGenerator<string> {
  const found: Dirent[] = await readdir(join(folder, below), { withFileTypes: true });
  for (const each of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === '' ? each.name : `${below}/${each.name}`;
    yield path;
    if (each.isDirectory()) yield* pathsOf(folder, path);
  }
}

async function entryOf(folder: string, path: string): Promise<Found> {
  const full = join(folder, path);
  const stats = await lstat(full);
  const plain = { path, mode: stats.mode & 0o7777, size: 0, link: null };
  if (stats.isDirectory()) return { ...plain, type: 'directory' };
  if (stats.isSymbolicLink()) return { ...plain, type: 'symlink', link: await readlink(full) };
  if (stats.isFile()) return { ...plain, type: 'file', size: stats.size };
  throw usageError(`${full} is neither a file nor a folder nor a link`, 'Leave it out by a line of .dockerignore.');
}

function tooLarge(folder: string, most: string): Error {
  return usageError(
    `the context ${folder} has more than ${most}`,
    'Leave some of it out by .dockerignore, or have RUN fetch it.',
  );
}
