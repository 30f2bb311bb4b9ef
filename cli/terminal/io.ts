import { EventEmitter, once } from 'node:events';
import { printable, printableJson } from './printable.ts';

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow';
/** SGR parameters of ECMA-48 §8.3.117: on, off. */
const SGR: Record<Style, [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  green: [32, 39],
  red: [31, 39],
  yellow: [33, 39],
};

interface Sink {
  write(text: string | Uint8Array): unknown;
  isTTY?: boolean;
}

export interface IoOptions {
  stdout: Sink;
  stderr: Sink;
  env: NodeJS.ProcessEnv;
  /** Aborted by Ctrl-C and SIGTERM. */
  signal: AbortSignal;
  /** Aborted by the second of them. */
  force: AbortSignal;
}

/** Where a command writes: results to stdout, everything about its progress to stderr. */
export class Io {
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly force: AbortSignal;
  /** Set by a command that must clean up even when forced; it ends the process itself. */
  endsItself = false;
  /** Set by a command that has something to end elsewhere when nobody reads its results any more; never rejects. */
  whenUnread: (() => Promise<void>) | null = null;
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  #transient = false;

  constructor(options: IoOptions) {
    this.env = options.env;
    this.signal = options.signal;
    this.force = options.force;
    this.#stdout = options.stdout;
    this.#stderr = options.stderr;
  }

  /** A line of the result. */
  print(line: string): void {
    this.#clear();
    this.#stdout.write(`${line}\n`);
  }

  /** One JSON document, or one line of NDJSON. */
  printJson(value: unknown): void {
    this.#clear();
    this.#stdout.write(`${printableJson(value)}\n`);
  }

  /** Output of a command of the guest's, byte for byte, as `ssh` passes it on; resolves when there is room for more. */
  async write(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> {
    this.#clear();
    const sink = stream === 'stdout' ? this.#stdout : this.#stderr;
    if (sink.write(bytes) === false && sink instanceof EventEmitter) await once(sink, 'drain');
  }

  /** A line for the person who watches. */
  note(line: string): void {
    this.#clear();
    this.#stderr.write(`${line}\n`);
  }

  /** A line that the next one replaces; only shown on a terminal. */
  noteForNow(line: string): void {
    if (!this.#stderr.isTTY) return;
    this.#clear();
    this.#stderr.write(line);
    this.#transient = true;
  }

  /** Takes the line of {@link noteForNow} away. */
  endNoteForNow(): void {
    this.#clear();
  }

  /** Whether the result is seen by a person, and not taken by a file or a program. */
  get isTerminal(): boolean {
    return this.#stdout.isTTY === true;
  }

  /** Whether both outputs are a terminal that has colours and is to use them. */
  get colors(): boolean {
    const terminals = this.#stderr.isTTY === true && this.#stdout.isTTY === true;
    return terminals && !this.env['NO_COLOR'] && this.env['TERM'] !== 'dumb';
  }

  /** Text from elsewhere, made safe and shown in a style where the terminal has one (https://no-color.org). */
  paint(style: Style, text: string): string {
    const safe = printable(text);
    const [on, off] = SGR[style];
    return this.colors ? `\u001b[${on}m${safe}\u001b[${off}m` : safe;
  }

  #clear(): void {
    if (this.#transient) this.#stderr.write('\r\u001b[K');
    this.#transient = false;
  }
}
