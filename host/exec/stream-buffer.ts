import type { OutputStream } from '../../model/sandbox/command.ts';
import { OUTPUT_CHUNK_BYTES, type OutputFrame } from '../../model/sandbox/output-frame.ts';
import type { Chunk, Output } from '../../store/commands/output.ts';
import type { Mark } from '../../store/commands/output-marks.ts';
import type { StreamTail } from '../../store/commands/output-tail.ts';

/** Last, growing chunk of a stream. Its memory grows with it, since most commands print little. */
class GrowingChunk {
  readonly marks: Mark[];
  length: number;
  #memory: Uint8Array;

  constructor(
    readonly n: number,
    { bytes, marks }: Pick<StreamTail, 'bytes' | 'marks'>,
  ) {
    this.marks = [...marks];
    this.length = bytes.length;
    this.#memory = Uint8Array.from(bytes);
  }

  get left(): number {
    return OUTPUT_CHUNK_BYTES - this.length;
  }

  /** @param bytes at most {@link left} */
  append(bytes: Uint8Array): void {
    const length = this.length + bytes.length;
    if (length > this.#memory.length) {
      const memory = new Uint8Array(Math.min(OUTPUT_CHUNK_BYTES, Math.max(1_024, length * 2)));
      memory.set(this.#memory.subarray(0, this.length));
      this.#memory = memory;
    }
    this.#memory.set(bytes, this.length);
    this.length = length;
  }

  /** Returns a copy that later appends do not change. */
  copy(): Chunk {
    return { bytes: this.#memory.slice(0, this.length), marks: [...this.marks] };
  }
}

export class StreamBuffer {
  #full: GrowingChunk[] = [];
  #last: GrowingChunk;
  /** Bytes in the store, bytes received, and the next offset: behind `taken` where some is stored already. */
  #stored: number;
  #taken: number;
  #next: number;

  /** @param next offset requested from the guest; bytes before the tail's end are stored already */
  constructor(
    private readonly output: Output,
    private readonly commandId: string,
    private readonly stream: OutputStream,
    tail: StreamTail,
    next: number,
  ) {
    const n = Math.floor(tail.end / OUTPUT_CHUNK_BYTES);
    const isFull = tail.bytes.length === OUTPUT_CHUNK_BYTES;
    this.#last = new GrowingChunk(n, isFull ? { bytes: new Uint8Array(), marks: [] } : tail);
    this.#stored = tail.end;
    this.#taken = tail.end;
    this.#next = next;
  }

  /** Offset of the next byte. */
  get next(): number {
    return this.#next;
  }

  /** End of the received bytes, stored or not. */
  get taken(): number {
    return this.#taken;
  }

  get stored(): number {
    return this.#stored;
  }

  get unstored(): number {
    return this.#taken - this.#stored;
  }

  get hasFullChunk(): boolean {
    return this.#full.length > 0;
  }

  /**
   * @param position of the frame's first byte, counted over both streams
   * @returns number of its bytes not stored before
   */
  add({ offset, bytes, atMs }: OutputFrame, position: number): number {
    this.#next = offset + bytes.length;
    const known = Math.min(bytes.length, Math.max(0, this.#taken - offset));
    for (let at = known; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + this.#last.left);
      this.#mark({ position: position + at, atMs, offset: offset + at });
      this.#last.append(piece);
      at += piece.length;
      if (this.#last.left > 0) continue;
      this.#full.push(this.#last);
      this.#last = new GrowingChunk(this.#last.n + 1, { bytes: new Uint8Array(), marks: [] });
    }
    this.#taken += bytes.length - known;
    return bytes.length - known;
  }

  async store(): Promise<void> {
    if (this.unstored === 0) return;
    const end = this.#taken;
    const full = this.#full;
    const last = this.#last;
    const grown = last.copy();
    for (const chunk of full) {
      await this.output.put(this.commandId, this.stream, chunk.n, chunk.copy());
      this.#full = this.#full.filter((other) => other !== chunk);
      this.#stored = Math.max(this.#stored, (chunk.n + 1) * OUTPUT_CHUNK_BYTES);
    }
    if (end > this.#stored) {
      await this.output.put(this.commandId, this.stream, last.n, grown);
      this.#stored = end;
    }
  }

  /** Adds a mark where time or order jumps; within one millisecond and without the other stream neither does. */
  #mark(mark: Mark): void {
    const last = this.#last.marks.at(-1);
    const isSameRun = last && last.atMs === mark.atMs && last.position - last.offset === mark.position - mark.offset;
    if (!isSameRun) this.#last.marks.push(mark);
  }
}
