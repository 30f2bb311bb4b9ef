import { MayflyError } from '../../model/errors.ts';
import type { OutputStream } from '../../model/sandbox/command.ts';
import type { OutputFrame } from '../../model/sandbox/output-frame.ts';
import type { Output, OutputPlace } from '../../store/commands/output.ts';
import { NO_TAIL, type OutputTail, tailOf } from '../../store/commands/output-tail.ts';
import { StreamBuffer } from './stream-buffer.ts';

/** What has come is in the store this soon, when the store keeps up. Milliseconds. */
const FLUSH_MS = 500;
/** One command's output that is not in the store yet: more is not read before it is. Bytes. */
const UNSTORED_BYTES = 262_144;
/** The same of all commands of this process together. Bytes. */
const ALL_UNSTORED_BYTES = 33_554_432;

/** How much of all commands' output waits to be stored; shared by the writers of one process. */
export interface Backlog {
  bytes: number;
}

interface OutputWriterOptions {
  output: Output;
  commandId: string;
  backlog: Backlog;
  /** Told after every write how much of each stream is stored; its failure is the writer's. */
  onStored: (stored: OutputPlace) => Promise<void>;
}

/**
 * Brings the output of one command into the store, both streams with their order and times. Keeps at most {@link UNSTORED_BYTES} in memory when its caller waits for {@link room}.
 */
export class OutputWriter {
  /** From where the guest is to be asked. */
  readonly from: OutputPlace;
  readonly #streams: Record<OutputStream, StreamBuffer>;
  readonly #backlog: Backlog;
  readonly #onStored: (kept: OutputPlace) => Promise<void>;
  /** Of the next byte, counted over both streams. */
  #position: number;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | null = null;
  #failure: unknown;

  /** Of a command that has just started: nothing is stored. */
  static begin(options: OutputWriterOptions): OutputWriter {
    return new OutputWriter(options, NO_TAIL);
  }

  /**
   * Goes on where whoever wrote before was stopped.
   * @param isAgain it is given all of it from the beginning, and what is stored is known
   */
  static async resume(options: OutputWriterOptions, { isAgain = false } = {}): Promise<OutputWriter> {
    const tail = await tailOf(options.output, options.commandId);
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

  /** What there is of each stream, stored or not. */
  get kept(): OutputPlace {
    return { stdout: this.#streams.stdout.taken, stderr: this.#streams.stderr.taken };
  }

  /** Takes what the guest sent next. @throws MayflyError guest_failed when it is not what comes next */
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

  /** Waits until more may be taken. @throws what kept the store from taking it */
  async room(): Promise<void> {
    while (
      this.#failure === undefined &&
      (this.#unstored >= UNSTORED_BYTES || (this.#backlog.bytes >= ALL_UNSTORED_BYTES && this.#unstored > 0))
    ) {
      await this.#flush();
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Stores what is left; nothing is told of it any more then. @throws what kept the store from taking it */
  async finish(): Promise<void> {
    await this.#flushing;
    while (this.#failure === undefined && this.#unstored > 0) await this.#flush();
    clearTimeout(this.#timer);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Writes no more, and lets go of what is not stored: it is asked for again by whoever comes next. */
  async abandon(): Promise<void> {
    clearTimeout(this.#timer);
    this.#failure ??= new Error('this output is not written any more');
    await this.#flushing;
    this.#backlog.bytes -= this.#unstored;
  }

  get #unstored(): number {
    return this.#streams.stdout.unstored + this.#streams.stderr.unstored;
  }

  /** One at a time; never rejects: its failure is told to who waits for room. */
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
