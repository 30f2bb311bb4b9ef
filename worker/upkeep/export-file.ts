import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import mongoose from 'mongoose';
import { flush } from '../../host/os/atomic-file.ts';
import type { Exported } from '../../store/retention/retained.ts';

const { EJSON } = mongoose.mongo.BSON;

/**
 * Writes documents to a new file of a folder, as gzipped JSON lines. A line is `{"collection": …, "document": …}` in
 * MongoDB's Extended JSON (https://github.com/mongodb/specifications/blob/master/source/extended-json). A file with its
 * final name is complete and synced; until then its name ends with `.part`.
 * @returns its path; null without any document
 * @throws Error of the file system, also a full one; then nothing counts as exported
 */
export async function exportTo(folder: string, documents: AsyncIterable<Exported>): Promise<string | null> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const name = `${new Date().toISOString().replace(/[-:]/g, '')}-${randomBytes(4).toString('hex')}.jsonl.gz`;
  const path = join(folder, name);
  const part = `${path}.part`;
  let lines = 0;
  async function* text(): AsyncGenerator<string> {
    for await (const { collection, document } of documents) {
      lines++;
      yield `${EJSON.stringify({ collection, document })}\n`;
    }
  }
  try {
    const file = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true });
    await once(file, 'open');
    await pipeline(Readable.from(text()), createGzip(), file);
    if (lines === 0) return null;
    const written = await open(part, 'r');
    await written.sync();
    await written.close();
    await rename(part, path);
    await flush(folder);
    return path;
  } finally {
    await rm(part, { force: true });
  }
}
