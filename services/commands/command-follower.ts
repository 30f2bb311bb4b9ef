import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyError } from '../../model/errors.ts';
import type { CommandRecord, OutputStream } from '../../model/sandbox/command.ts';
import { FrameReader, OUTPUT_CHUNK_BYTES, type OutputFrame } from '../../model/sandbox/output-frame.ts';
import { countIncompleteBytes } from '../../model/utf8.ts';
import type { OutputPosition } from '../../store/commands/output.ts';
import { replay } from '../../store/commands/output-replay.ts';
import { getTail } from '../../store/commands/output-tail.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { toGuestError } from '../guests.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** Piece of output as it is sent to clients. */
type OutputPiece = TextOrBase64 & {
  stream: OutputStream;
  /** ISO 8601, guest clock. */
  at: string;
  offset: number;
  /** Position in both streams behind this piece. */
  place: OutputPosition;
};

/** Time for the few writes between the last output of a guest and the record of the end, ms. */
const SETTLE_MS = 20;
/** Poll interval of the store while the guest does not answer, ms. */
const POLL_MS = 250;

/**
 * Output of one command from a position on: live from its guest while it runs; from the store when it has ended, the
 * guest does not answer, or the output is masked, which happens on its way into the store.
 */
export class CommandFollower {
  readonly #deps: ServiceDeps;
  readonly #record: CommandRecord;
  readonly #signal: AbortSignal;
  #place: OutputPosition;

  constructor(deps: ServiceDeps, record: CommandRecord, from: OutputPosition, signal: AbortSignal) {
    this.#deps = deps;
    this.#record = record;
    this.#signal = signal;
    this.#place = { ...from };
  }

  /** Ends behind the last byte of an ended command. @throws the signal's reason */
  async *pieces(): AsyncGenerator<OutputPiece> {
    const { store } = this.#deps;
    const { id } = this.#record;
    for (;;) {
      this.#signal.throwIfAborted();
      // Read before the output: once the command has ended, the stored output is complete.
      const hasEnded = (await store.commands.get(id))?.state === 'ended';
      if (hasEnded) return yield* this.#emitPieces(replay(store.output, id, this.#place), { isAll: true });
      const isOver = !this.#record.spec.isMasked && (yield* this.#live());
      if (!isOver) yield* this.#emitPieces(this.#storedFrames(), { isAll: false });
      await sleep(isOver ? SETTLE_MS : POLL_MS, undefined, { signal: this.#signal });
    }
  }

  /** Yields stored output up to the point that both streams have reached: one stream may be ahead of the other. */
  async *#storedFrames(): AsyncGenerator<OutputFrame> {
    const { output } = this.#deps.store;
    const { place } = await getTail(output, this.#record.id);
    for await (const frame of replay(output, this.#record.id, this.#place)) {
      const bytes = frame.bytes.subarray(0, Math.max(0, place[frame.stream] - frame.offset));
      if (bytes.length > 0) yield { ...frame, bytes };
    }
  }

  /** Yields output from the guest. @returns true when the guest has sent its end */
  async *#live(): AsyncGenerator<OutputPiece, boolean> {
    const { guests, logger } = this.#deps;
    const { id, hostId } = this.#record;
    const frames = new LiveFrames(this.#record.spec.maxOutputBytes);
    try {
      const path = `/commands/${id}/output?stdout=${this.#place.stdout}&stderr=${this.#place.stderr}`;
      const answer = await guests.request(hostId, path, { signal: this.#signal });
      if (!answer.ok || !answer.body) throw await toGuestError(answer);
      yield* this.#emitPieces(frames.of(answer.body), { isAll: true });
    } catch (error) {
      this.#signal.throwIfAborted();
      logger.debug({ err: error, commandId: id }, 'a command is followed from the store for now');
    }
    return frames.isOver;
  }

  /** Yields frames cut at character boundaries. An incomplete character at the end of a frame waits for the rest. */
  async *#emitPieces(
    frames: AsyncIterable<OutputFrame>,
    { isAll }: { isAll: boolean },
  ): AsyncGenerator<OutputPiece, undefined> {
    const waiting: Partial<Record<OutputStream, OutputFrame>> = {};
    for await (const frame of frames) {
      const joined = this.#join(waiting[frame.stream], frame);
      const left = countIncompleteBytes(joined.bytes);
      const length = joined.bytes.length - left;
      const { stream, atMs, offset, bytes } = joined;
      const rest = { stream, atMs, offset: offset + length, bytes: bytes.subarray(length) };
      if (left > 0) waiting[stream] = rest;
      else delete waiting[stream];
      if (length > 0) yield this.#piece({ ...joined, bytes: bytes.subarray(0, length) });
    }
    if (!isAll) return;
    for (const frame of Object.values(waiting)) yield this.#piece(frame);
  }

  #join(before: OutputFrame | undefined, frame: OutputFrame): OutputFrame {
    const expected = this.#place[frame.stream] + (before?.bytes.length ?? 0);
    if (frame.offset !== expected) {
      throw new MayflyError(
        'guest_failed',
        `The guest sent ${frame.stream} from byte ${frame.offset}, not ${expected}.`,
      );
    }
    return before ? { ...before, bytes: Buffer.concat([before.bytes, frame.bytes]) } : frame;
  }

  #piece({ stream, atMs, offset, bytes }: OutputFrame): OutputPiece {
    this.#place = { ...this.#place, [stream]: offset + bytes.length };
    const content = textOrBase64(bytes, { isCut: false });
    return { stream, at: timeOf(atMs), offset, ...content, place: this.#place };
  }
}

/** Frames of the live output of a guest. */
class LiveFrames {
  readonly #reader = new FrameReader();
  readonly #maxOffset: number;

  constructor(maxOffset: number) {
    this.#maxOffset = maxOffset;
  }

  get isOver(): boolean {
    return this.#reader.isOver;
  }

  async *of(body: AsyncIterable<Uint8Array>): AsyncGenerator<OutputFrame> {
    for await (const bytes of body) {
      for (const item of this.#reader.push(bytes)) {
        if ('exit' in item) return;
        if (item.offset + item.bytes.length > this.#maxOffset) {
          throw new MayflyError('guest_failed', 'The guest sends more output than is to be kept.');
        }
        yield item;
      }
    }
    throw new MayflyError('guest_unreachable', 'The live output broke off.');
  }
}

/** Returns the time in ISO 8601; 1970 for an invalid value, since guests choose it. */
function timeOf(atMs: number): string {
  const time = new Date(atMs);
  return Number.isNaN(time.getTime()) ? new Date(0).toISOString() : time.toISOString();
}

/** Bytes in a form that JSON can carry. */
type TextOrBase64 = { text: string } | { base64: string };

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Returns text where the bytes are UTF-8, else base64.
 * @param isCut true when more bytes follow: then an incomplete character at the end is left out of text
 */
export function textOrBase64(bytes: Uint8Array, { isCut }: { isCut: boolean }): TextOrBase64 {
  const whole = isCut ? bytes.subarray(0, bytes.length - countIncompleteBytes(bytes)) : bytes;
  try {
    return { text: decoder.decode(whole) };
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') }; // not UTF-8
  }
}

/** Reads a range of one stored stream, chunk by chunk, without holding it in memory. */
export function readOutput(
  store: ProjectStore,
  commandId: string,
  stream: OutputStream,
  range: { offset: number; end: number },
): ReadableStream<Uint8Array> {
  let at = range.offset;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // Reads up to the end of a chunk, so that each chunk is read once.
        const length = Math.min(range.end - at, OUTPUT_CHUNK_BYTES - (at % OUTPUT_CHUNK_BYTES));
        if (length === 0) return controller.close();
        const piece = await store.output.read(commandId, stream, at, length);
        if (piece.length === 0) return controller.error(new Error(`the store has no byte ${at} of ${commandId}`));
        at += piece.length;
        controller.enqueue(piece);
      },
    },
    { highWaterMark: 0 },
  );
}
