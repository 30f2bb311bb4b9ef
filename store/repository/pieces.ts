import type { Connection } from 'mongoose';
import { below } from '../mongo/below.ts';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { ENCRYPTED } from '../mongo/schema.ts';
import type { Sealing } from '../sealed/sealing.ts';
import { Repository } from './repository.ts';

/** Well below what one document may have. Bytes. */
const PIECE_BYTES = 4 * 1_024 * 1_024;

/** Contents of any size by their names, encrypted, in pieces of 4 MiB, `_id` = `<name>/<n>`; the last is shorter, or empty: without it a content is not whole. */
export class Pieces extends Repository<{ bytes: StoredBytes }> {
  constructor(connection: Connection, sealing: Sealing, collection: string) {
    super(connection, sealing, { collection, noun: 'a piece', fields: { bytes: ENCRYPTED } });
  }

  /** In place of what was there: the same content, written once more. */
  async put(name: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    const writer = this.writer(name);
    for await (const given of content instanceof Uint8Array ? [content] : content) await writer.write(given);
    await writer.end();
  }

  /** Takes a content as it comes. */
  writer(name: string): PieceWriter {
    return new PieceWriter((n, bytes) => this.write(`${name}/${n}`, { bytes }));
  }

  /** Piece by piece, to the end. @returns whether it was whole */
  async *read(name: string): AsyncGenerator<Uint8Array, boolean> {
    for (let n = 0; ; n++) {
      const found = await this.findById(`${name}/${n}`);
      if (!found) return false;
      const piece = bytesOf(found.bytes);
      yield piece;
      if (piece.length < PIECE_BYTES) return true;
    }
  }

  /** Null: it is not there, or not whole. */
  async get(name: string): Promise<Uint8Array | null> {
    const pieces: Uint8Array[] = [];
    const reader = this.read(name);
    for (;;) {
      const { done, value } = await reader.next();
      if (done) return value ? Buffer.concat(pieces) : null;
      pieces.push(value);
    }
  }

  /** All contents whose names are this, or are below it. */
  async remove(name: string): Promise<void> {
    await this.deleteAll(below(name));
  }
}

/** Gathers what it is given into pieces. Nobody reads the content before its end is written. */
export class PieceWriter {
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
