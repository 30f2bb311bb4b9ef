import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
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

/** Standard input. */
export interface Source {
  /** Whether a program or a file writes to it, and neither a person nor nobody. */
  isPiped: boolean;
  open(): Readable;
}

interface Sink {
  write(text: string | Uint8Array): unknown;
  isTTY?: boolean;
}

interface IoOptions {
  stdout: Sink;
  stderr: Sink;
  env: NodeJS.ProcessEnv;
  /** `@default` empty */
  stdin?: Source;
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
  readonly stdin: Source;
  /** Set by a command that must clean up even when forced; it ends the process itself. */
  endsItself = false;
  /** Set by a command that has something to end elsewhere when nobody reads its results any more; never rejects. */
  whenUnread: (() => Promise<void>) | null = null;
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  #transient = false;
  #isUnread = false;

  constructor(options: IoOptions) {
    this.env = options.env;
    this.stdin = options.stdin ?? { isPiped: false, open: () => Readable.from([]) };
    this.signal = options.signal;
    this.force = options.force;
    this.#stdout = options.stdout;
    this.#stderr = options.stderr;
  }

  /** Whether nobody reads the output any more. */
  get isUnread(): boolean {
    return this.#isUnread;
  }

  /** Drops all that is written from now on: a reader such as `head` has gone. */
  dropOutput(): void {
    this.#isUnread = true;
  }

  /** A line of the result. */
  print(line: string): void {
    this.#put('stdout', `${line}\n`);
  }

  /** One JSON document, or one line of NDJSON. */
  printJson(value: unknown): void {
    this.#put('stdout', `${printableJson(value)}\n`);
  }

  /** Output of a command of the guest's, byte for byte, as `ssh` passes it on; resolves when there is room for more. */
  async write(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> {
    const sink = stream === 'stdout' ? this.#stdout : this.#stderr;
    if (this.#put(stream, bytes) !== false || !(sink instanceof EventEmitter)) return;
    await once(sink, 'drain').catch((error: unknown) => {
      if (!this.#isUnread) throw error;
    });
  }

  /** A line for the person who watches. */
  note(line: string): void {
    this.#put('stderr', `${line}\n`);
  }

  /** A line that the next one replaces; only shown on a terminal. */
  noteForNow(line: string): void {
    if (!this.#stderr.isTTY) return;
    this.#put('stderr', line);
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

  #put(stream: 'stdout' | 'stderr', bytes: string | Uint8Array): unknown {
    if (this.#isUnread) return true;
    this.#clear();
    return (stream === 'stdout' ? this.#stdout : this.#stderr).write(bytes);
  }

  #clear(): void {
    if (this.#transient && !this.#isUnread) this.#stderr.write('\r\u001b[K');
    this.#transient = false;
  }
}
