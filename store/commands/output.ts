import { z } from 'zod';
import { encryptedField } from '../../model/fields.ts';
import type { OutputStream } from '../../model/sandbox/command.ts';
import { OUTPUT_CHUNK_BYTES } from '../../model/sandbox/output-frame.ts';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { repositoryOf } from '../repository/repository.ts';
import { type Mark, packMarks, unpackMarks } from './output-marks.ts';

/** Content of a chunk; its first mark is at its first byte. */
export interface Chunk {
  bytes: Uint8Array;
  marks: Mark[];
}

/** Position in the output: bytes of each stream before it. */
export type OutputPosition = Record<OutputStream, number>;

const storedChunk = z.object({
  bytes: encryptedField(z.custom<StoredBytes>()),
  marks: encryptedField(z.custom<StoredBytes>()),
});

/**
 * Output of commands, in chunks of {@link OUTPUT_CHUNK_BYTES}: `_id` = `<commandId>/<stream>/<n>`. One worker writes a
 * stream, chunk after chunk; only the last one grows. Written bytes never change, so rewriting them is harmless.
 */
export class Output extends repositoryOf({ collection: 'output', noun: 'a chunk of output', model: storedChunk }) {
  async put(commandId: string, stream: OutputStream, n: number, { bytes, marks }: Chunk): Promise<void> {
    const content = { bytes: Buffer.from(bytes), marks: packMarks(marks) };
    await this.write(chunkId(commandId, stream, n), content);
  }

  async chunk(commandId: string, stream: OutputStream, n: number): Promise<Chunk | null> {
    const found = await this.findById(chunkId(commandId, stream, n));
    return found && { bytes: bytesOf(found.bytes), marks: unpackMarks(bytesOf(found.marks)) };
  }

  /** Reads bytes of one stream from an offset, at most `limit`: fewer, or none, at the end of the stored part. */
  async read(commandId: string, stream: OutputStream, offset: number, limit: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for (let at = offset; at < offset + limit; ) {
      const n = Math.floor(at / OUTPUT_CHUNK_BYTES);
      const chunk = await this.chunk(commandId, stream, n);
      const from = at - n * OUTPUT_CHUNK_BYTES;
      const piece = chunk?.bytes.subarray(from, from + offset + limit - at) ?? new Uint8Array();
      pieces.push(piece);
      at += piece.length;
      if (!chunk || chunk.bytes.length < OUTPUT_CHUNK_BYTES || piece.length === 0) break;
    }
    return Buffer.concat(pieces);
  }

  /** Returns the last chunk of a stream and its number; null without output. Searches by id in 2 log2 n reads. */
  async last(commandId: string, stream: OutputStream): Promise<{ n: number; chunk: Chunk } | null> {
    const has = async (n: number) => {
      const _id = chunkId(commandId, stream, n);
      return (await this.documents({ _id }, { only: { _id: 1 } })).length > 0;
    };
    if (!(await has(0))) return null;
    let present = 0;
    let absent = 1;
    for (; await has(absent); absent *= 2) present = absent;
    while (absent - present > 1) {
      const middle = Math.floor((present + absent) / 2);
      if (await has(middle)) present = middle;
      else absent = middle;
    }
    const chunk = await this.chunk(commandId, stream, present);
    return chunk && { n: present, chunk };
  }
}

function chunkId(commandId: string, stream: OutputStream, n: number): string {
  return `${commandId}/${stream}/${n}`;
}
