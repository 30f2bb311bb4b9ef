/**
 * Header of a frame in one direction of a tunneled TCP connection (docs/ports-desktop.md): four bytes of length, big-endian,
 * then the bytes. Length 0 is the end; a stream without it was cut off. Length 2³² − 1 is a no-op without bytes:
 * `fetch` sends a request's head only together with its first body bytes.
 */
const HEADER_BYTES = 4;
export const MAX_FRAME_BYTES = 1_048_576;
const NOTHING_LENGTH = 0xffff_ffff;

/** End of a direction. */
export const END_FRAME: Uint8Array = new Uint8Array(HEADER_BYTES);

/** No-op frame. */
export const NOOP_FRAME: Uint8Array = new Uint8Array(HEADER_BYTES).fill(0xff);

/** Builds a frame; copying is cheaper than a second write. @param bytes 1 to {@link MAX_FRAME_BYTES} bytes */
export function encodeFrame(bytes: Uint8Array): Uint8Array {
  const piece = new Uint8Array(HEADER_BYTES + bytes.length);
  new DataView(piece.buffer).setUint32(0, bytes.length);
  piece.set(bytes, HEADER_BYTES);
  return piece;
}

/** Extracts the content of frames from chunks of any size. */
export class FrameReader {
  readonly #header = new Uint8Array(HEADER_BYTES);
  #inHeader = 0;
  #left = 0;
  #isEnded = false;

  /** True after the end frame; later bytes are ignored. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** @throws RangeError for an invalid frame */
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
    else if (this.#left > MAX_FRAME_BYTES)
      throw new RangeError(`a piece of ${this.#left} bytes is longer than any may be`);
    else this.#isEnded = this.#left === 0;
  }
}
