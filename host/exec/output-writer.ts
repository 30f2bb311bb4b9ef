import { MayflyError } from '../../model/errors.ts';
import type { OutputStream } from '../../model/sandbox/command.ts';
import type { OutputFrame } from '../../model/sandbox/output-frame.ts';
import type { Output, OutputPosition } from '../../store/commands/output.ts';
import { getTail, NO_TAIL, type OutputTail } from '../../store/commands/output-tail.ts';
import { StreamBuffer } from './stream-buffer.ts';

/** Longest delay until received output is stored, if the store keeps up. Milliseconds. */
const FLUSH_MS = 500;
/** Limit of one command's unstored output; reading pauses above it. Bytes. */
const UNSTORED_BYTES = 262_144;
/** Limit of all commands' unstored output in this process. Bytes. */
const ALL_UNSTORED_BYTES = 33_554_432;

/** Unstored output of all commands; shared by the writers of one process. */
export interface Backlog {
  bytes: number;
}

interface OutputWriterOptions {
  output: Output;
  commandId: string;
  backlog: Backlog;
  /** Callback after every write, with the stored bytes of each stream; its failure fails the writer. */
  onStored: (stored: OutputPosition) => Promise<void>;
}

/**
 * Stores the output of one command, both streams with their order and times. Buffers at most {@link UNSTORED_BYTES}
 * when its caller awaits {@link room}.
 */
export class OutputWriter {
  /** Offsets at which the guest's output resumes. */
  readonly from: OutputPosition;
  readonly #streams: Record<OutputStream, StreamBuffer>;
  readonly #backlog: Backlog;
  readonly #onStored: (kept: OutputPosition) => Promise<void>;
  /** Position of the next byte, counted over both streams. */
  #position: number;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | null = null;
  #failure: unknown;

  /** Starts with an empty store, for a command that has just started. */
  static begin(options: OutputWriterOptions): OutputWriter {
    return new OutputWriter(options, NO_TAIL);
  }

  /**
   * Resumes where the previous writer stopped.
   * @param isAgain the guest's output comes from its beginning; stored bytes are skipped
   */
  static async resume(options: OutputWriterOptions, { isAgain = false } = {}): Promise<OutputWriter> {
    const tail = await getTail(options.output, options.commandId);
    return new OutputWriter(options, isAgain ? { ...tail, place: NO_TAIL.place } : tail);
  }

  private constructor({ output, commandId, backlog, onStored }: OutputWriterOptions, { place, ...tail }: OutputTail) {
    this.from = place;
    this.#position = place.stdout + place.stderr;
    this.#backlog = backlog;
    this.#onStored = onStored;
    this.#streams = {
      stdout: new StreamBuffer(output, commandId, 'stdout', tail.stdout, place.stdout),
      stderr: new StreamBuffer(output, commandId, 'stderr', tail.stderr, place.stderr),
    };
  }

  /** Bytes received of each stream, stored or not. */
  get kept(): OutputPosition {
    return { stdout: this.#streams.stdout.taken, stderr: this.#streams.stderr.taken };
  }

  /** Adds the guest's next frame. @throws MayflyError guest_failed when the offset is not the next one */
  add(frame: OutputFrame): void {
    const stream = this.#streams[frame.stream];
    if (frame.offset !== stream.next) {
      throw new MayflyError(
        'guest_failed',
        `The guest sent ${frame.stream} from byte ${frame.offset} on, where byte ${stream.next} was to come.`,
      );
    }
    this.#backlog.bytes += stream.add(frame, this.#position);
    this.#position += frame.bytes.length;
    if (stream.hasFullChunk) void this.#flush();
    else if (this.#unstored > 0) this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS);
  }

  /** Waits until there is room for more. @throws the failure of the store */
  async room(): Promise<void> {
    while (
      this.#failure === undefined &&
      (this.#unstored >= UNSTORED_BYTES || (this.#backlog.bytes >= ALL_UNSTORED_BYTES && this.#unstored > 0))
    ) {
      await this.#flush();
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Stores the rest, without a timer. @throws the failure of the store */
  async finish(): Promise<void> {
    await this.#flushing;
    while (this.#failure === undefined && this.#unstored > 0) await this.#flush();
    clearTimeout(this.#timer);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Stops writing and drops unstored output: the next writer requests it again. */
  async abandon(): Promise<void> {
    clearTimeout(this.#timer);
    this.#failure ??= new Error('this output is not written any more');
    await this.#flushing;
    this.#backlog.bytes -= this.#unstored;
  }

  get #unstored(): number {
    return this.#streams.stdout.unstored + this.#streams.stderr.unstored;
  }

  /** Stores buffered output, one run at a time. Never rejects: {@link room} throws the failure. */
  #flush(): Promise<void> {
    this.#flushing ??= this.#store().finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  async #store(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      if (this.#failure !== undefined) return;
      const { stdout, stderr } = this.#streams;
      for (const stream of [stdout, stderr]) await this.#storeOne(stream);
      await this.#onStored({ stdout: stdout.stored, stderr: stderr.stored });
    } catch (error) {
      this.#failure ??= error;
    }
    if (this.#unstored > 0 && this.#failure === undefined) {
      this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS);
    }
  }

  async #storeOne(stream: StreamBuffer): Promise<void> {
    const before = stream.stored;
    try {
      await stream.store();
    } finally {
      this.#backlog.bytes -= stream.stored - before;
    }
  }
}
