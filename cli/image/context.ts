import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { BuildImage } from '../../clients/typescript/http/openapi.ts';
import type { Images } from '../../clients/typescript/images.ts';
import { LIMITS } from '../../model/limits.ts';
import { archiveBytes, createArchive, type Found, listFolder } from '../copy/folder.ts';
import { usageError } from '../terminal/cli-error.ts';
import type { Io } from '../terminal/io.ts';

const { contextBytes, sentContextBytes, contextEntries } = LIMITS.image;
const MIB = 1_048_576;

/** Fields of a build request for its folder. */
type ContextFields = Pick<BuildImage, 'context' | 'contextDigest'>;

/**
 * Sends a folder without the entries that its `.dockerignore` excludes: within the request, or, when too large,
 * uploaded before it, unless already stored.
 * @throws CliError
 */
export async function contextOf(io: Io, images: Images, folder: string): Promise<ContextFields> {
  const found = await entriesOf(folder);
  const bytes = archiveBytes(found);
  if (bytes > sentContextBytes) throw tooLarge(folder, `${sentContextBytes} bytes`);
  if (bytes <= contextBytes) {
    const pieces: Uint8Array[] = [];
    for await (const piece of createArchive(folder, found)) pieces.push(piece);
    return { context: Buffer.concat(pieces).toString('base64') };
  }
  const { signal } = io;
  try {
    const hash = createHash('sha256');
    for await (const piece of showProgress(io, 'reading the context', bytes, createArchive(folder, found))) {
      signal.throwIfAborted();
      hash.update(piece);
    }
    const contextDigest = hash.digest('hex');
    if (!(await images.hasContext(contextDigest, { signal }))) {
      const archive = Readable.from(showProgress(io, 'sending the context', bytes, createArchive(folder, found)), {
        objectMode: false,
      });
      await images.sendContext(contextDigest, Readable.toWeb(archive) as ReadableStream<Uint8Array>, { signal });
    }
    return { contextDigest };
  } finally {
    io.endNoteForNow();
  }
}

async function entriesOf(folder: string): Promise<Found[]> {
  const about = await stat(folder).catch(() => null);
  if (!about?.isDirectory())
    throw usageError(`${folder} is no folder`, 'Name the folder that COPY takes from, such as `.`.');
  const entries: Found[] = [];
  for await (const entry of listFolder(folder, '.dockerignore')) {
    entries.push(entry);
    if (entries.length > contextEntries) throw tooLarge(folder, `${contextEntries} entries`);
  }
  return entries;
}

/** Shows the progress of a stream in percent. */
async function* showProgress(
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

function tooLarge(folder: string, most: string): Error {
  return usageError(
    `the context ${folder} has more than ${most}`,
    'Leave some of it out by .dockerignore, or have RUN fetch it.',
  );
}
