import { z } from 'zod';
import { encryptedField } from '../../model/fields.ts';
import { idPrefixFilter } from '../mongo/below.ts';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { repositoryOf } from './repository.ts';

/** Size of a piece, well below the limit of a document, bytes. */
const PIECE_BYTES = 4 * 1_024 * 1_024;

const piece = z.object({ bytes: encryptedField(z.custom<StoredBytes>()) });

/**
 * Creates the class of encrypted contents of any size, in pieces of 4 MiB, `_id` = `<owner>/<part>/<n>`; the last is
 * shorter, or empty: without it a content is incomplete.
 */
export function pieceRepositoryOf<Part extends string>(collection: string) {
  return class extends repositoryOf({ collection, noun: 'a piece', model: piece }) {
    /** Replaces a content by a repetition of the same one. */
    async put(owner: string, part: Part, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
      const writer = this.writer(owner, part);
      for await (const given of content instanceof Uint8Array ? [content] : content) await writer.write(given);
      await writer.end();
    }

    /** Returns a writer for a content that arrives in parts. */
    writer(owner: string, part: Part): PieceWriter {
      return new PieceWriter((n, bytes) => this.write(`${owner}/${part}/${n}`, { bytes }));
    }

    /** Yields the pieces in order. @returns false for an incomplete content */
    async *read(owner: string, part: Part): AsyncGenerator<Uint8Array, boolean> {
      for (let n = 0; ; n++) {
        const found = await this.findById(`${owner}/${part}/${n}`);
        if (!found) return false;
        const piece = bytesOf(found.bytes);
        yield piece;
        if (piece.length < PIECE_BYTES) return true;
      }
    }

    /** Returns null for a missing or incomplete content. */
    async get(owner: string, part: Part): Promise<Uint8Array | null> {
      const pieces: Uint8Array[] = [];
      const reader = this.read(owner, part);
      for (;;) {
        const { done, value } = await reader.next();
        if (done) return value ? Buffer.concat(pieces) : null;
        pieces.push(value);
      }
    }

    /** Removes one part, or all of an owner. */
    async remove(owner: string, part?: Part): Promise<void> {
      await this.deleteAll(idPrefixFilter(part === undefined ? owner : `${owner}/${part}`));
    }
  };
}

/** Buffers bytes into pieces. A content is unreadable until its end is written. */
class PieceWriter {
  #n = 0;
  #held: Uint8Array[] = [];
  #size = 0;

  constructor(private readonly writePiece: (n: number, bytes: Buffer) => Promise<void>) {}

  async write(given: Uint8Array): Promise<void> {
    for (let at = 0; at < given.length; ) {
      const taken = given.subarray(at, at + PIECE_BYTES - this.#size);
      this.#held.push(taken);
      at += taken.length;
      this.#size += taken.length;
      if (this.#size === PIECE_BYTES) await this.#flush();
    }
  }

  async end(): Promise<void> {
    await this.#flush();
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#held);
    [this.#held, this.#size] = [[], 0];
    await this.writePiece(this.#n++, bytes);
  }
}
