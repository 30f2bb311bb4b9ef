import { MayflyError } from '../errors.ts';
import type { OutputStream } from './command.ts';

/**
 * Header of a frame: output as the guest read it from the command in one read. The guest's log, its agent's answer and
 * the relay's live answer use the same bytes, so that intermediaries only copy:
 *
 *     stream:u8 (1 stdout, 2 stderr, 0 the end) | at:u64 ms since 1970 | offset:u64 | length:u32 | bytes
 *
 * Big-endian. `offset` is the position of the first byte in its stream. The end's bytes are a CommandExit in JSON.
 * Frames of both streams are in the order of the guest's reads.
 */
export const FRAME_HEADER_BYTES = 21;
/** Limit for frames of an untrusted guest, bytes. */
export const FRAME_MAX_BYTES = 1_048_576;

export interface OutputFrame {
  stream: OutputStream;
  /** Guest clock, ms since 1970. */
  atMs: number;
  /** Position of the first byte in its stream. */
  offset: number;
  bytes: Uint8Array;
}

/** Size of a stored output chunk, bytes: `_id` is `<commandId>/<stream>/<n>`, chunk n starts at n × this. */
export const OUTPUT_CHUNK_BYTES = 65_536;

/** Last item of an output: unvalidated JSON of a CommandExit. */
interface OutputEnd {
  exit: string;
}

const STREAMS: readonly (OutputStream | undefined)[] = [undefined, 'stdout', 'stderr'];
const END = 0;
/** Limit for a CommandExit, which takes some hundred bytes. */
const END_MAX_BYTES = 65_536;

export function encodeFrame({ stream, atMs, offset, bytes }: OutputFrame): Uint8Array {
  return encode(STREAMS.indexOf(stream), atMs, offset, bytes);
}

export function encodeEnd(exit: string, atMs: number): Uint8Array {
  return encode(END, atMs, 0, new TextEncoder().encode(exit));
}

function encode(stream: number, atMs: number, offset: number, bytes: Uint8Array): Uint8Array {
  const frame = new Uint8Array(FRAME_HEADER_BYTES + bytes.length);
  const view = new DataView(frame.buffer);
  view.setUint8(0, stream);
  view.setBigUint64(1, BigInt(atMs));
  view.setBigUint64(9, BigInt(offset));
  view.setUint32(17, bytes.length);
  frame.set(bytes, FRAME_HEADER_BYTES);
  return frame;
}

/**
 * Parses frames from chunks of any size. Yields the available part of a frame at once as a shorter frame: buffers only
 * a header or an end, and never copies output.
 */
export class FrameReader {
  readonly #header = new Uint8Array(FRAME_HEADER_BYTES);
  readonly #view = new DataView(this.#header.buffer);
  #headerBytes = 0;
  /** Remaining bytes of the current frame. */
  #left = 0;
  #offset = 0;
  #end: Uint8Array | null = null;
  #isOver = false;

  /** @throws MayflyError guest_failed for invalid frames; the reader is unusable afterwards */
  *push(bytes: Uint8Array): Generator<OutputFrame | OutputEnd> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#isOver) throw invalidFrame('something after its end');
      if (this.#headerBytes < FRAME_HEADER_BYTES) {
        const piece = bytes.subarray(at, at + FRAME_HEADER_BYTES - this.#headerBytes);
        this.#header.set(piece, this.#headerBytes);
        this.#headerBytes += piece.length;
        at += piece.length;
        if (this.#headerBytes === FRAME_HEADER_BYTES) this.#begin();
      } else {
        const piece = bytes.subarray(at, at + this.#left);
        at += piece.length;
        yield* this.#take(piece);
      }
    }
  }

  /** True after the end frame; otherwise more follows, or the connection broke. */
  get isOver(): boolean {
    return this.#isOver;
  }

  #begin(): void {
    const stream = this.#view.getUint8(0);
    this.#offset = Number(this.#view.getBigUint64(9));
    this.#left = this.#view.getUint32(17);
    if (stream > 2) throw invalidFrame(`a stream ${stream}`);
    if (this.#left === 0 || this.#left > (stream === END ? END_MAX_BYTES : FRAME_MAX_BYTES)) {
      throw invalidFrame(`a frame of ${this.#left} bytes`);
    }
    if (!Number.isSafeInteger(this.#offset)) throw invalidFrame('an offset beyond 2^53');
    this.#end = stream === END ? new Uint8Array(this.#left) : null;
  }

  *#take(piece: Uint8Array): Generator<OutputFrame | OutputEnd> {
    const stream = STREAMS[this.#view.getUint8(0)];
    this.#left -= piece.length;
    if (this.#left === 0) this.#headerBytes = 0;
    if (stream) {
      yield { stream, atMs: Number(this.#view.getBigUint64(1)), offset: this.#offset, bytes: piece };
      this.#offset += piece.length;
    } else if (this.#end) {
      this.#end.set(piece, this.#end.length - this.#left - piece.length);
      if (this.#left > 0) return;
      this.#isOver = true;
      yield { exit: new TextDecoder().decode(this.#end) };
    }
  }
}

function invalidFrame(what: string): MayflyError {
  return new MayflyError('guest_failed', `The guest sent ${what} as the output of a command.`);
}
