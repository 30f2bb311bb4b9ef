/**
 * A direction of a TCP connection, as it is carried through the API (docs/ports.md): pieces of four bytes of length,
 * big-endian, and so many bytes. Length 0 is its end; a stream that ends without was cut off. Length 2³² − 1 means nothing
 * and has no bytes: `fetch` sends the head of a request together with the first of its body.
 */
const HEADER_BYTES = 4;
export const MAX_PIECE_BYTES = 1_048_576;
const NOTHING_LENGTH = 0xffff_ffff;

/** The end of a direction. */
export const END: Uint8Array = new Uint8Array(HEADER_BYTES);

/** Means nothing. */
export const NOTHING: Uint8Array = new Uint8Array(HEADER_BYTES).fill(0xff);

/** A piece with its length: one write, which costs more than the copy. @param bytes at least one, at most {@link MAX_PIECE_BYTES} */
export function pieceOf(bytes: Uint8Array): Uint8Array {
  const piece = new Uint8Array(HEADER_BYTES + bytes.length);
  new DataView(piece.buffer).setUint32(0, bytes.length);
  piece.set(bytes, HEADER_BYTES);
  return piece;
}

/** Finds the content of pieces in the chunks of a stream, however it was cut. */
export class PieceReader {
  readonly #header = new Uint8Array(HEADER_BYTES);
  #inHeader = 0;
  #left = 0;
  #isEnded = false;

  /** Whether the end has come; what comes after it is not looked at. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** @throws RangeError for what is no piece */
  *read(chunk: Uint8Array): Generator<Uint8Array, void, undefined> {
    for (let at = 0; at < chunk.length && !this.#isEnded; ) {
      if (this.#left > 0) {
        const part = chunk.subarray(at, at + this.#left);
        this.#left -= part.length;
        at += part.length;
        yield part;
      } else {
        this.#header[this.#inHeader++] = chunk[at++] ?? 0;
        if (this.#inHeader === HEADER_BYTES) this.#begin();
      }
    }
  }

  #begin(): void {
    this.#inHeader = 0;
    this.#left = new DataView(this.#header.buffer).getUint32(0);
    if (this.#left === NOTHING_LENGTH) this.#left = 0;
    else if (this.#left > MAX_PIECE_BYTES)
      throw new RangeError(`a piece of ${this.#left} bytes is longer than any may be`);
    else this.#isEnded = this.#left === 0;
  }
}
