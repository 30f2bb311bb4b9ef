import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { patiently } from '../../clients/typescript/http/retry.ts';
import { LIMITS } from '../../model/limits.ts';

/**
 * What a terminal would obey instead of show: C0 and C1 control characters, DEL, and the bidirectional overrides
 * (U+202A-202E, U+2066-2069) that make one text look like another. Names and messages come from guests and callers.
 */
const OBEYED = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** `text` as one line that a terminal shows and does nothing else with. */
export function printable(text: string): string {
  return text.replace(OBEYED, (char) => (char === '\n' || char === '\t' ? ' ' : '\ufffd'));
}

/** JSON on one line; `JSON.stringify` leaves C1 characters and overrides as they are, which terminals obey. */
function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(OBEYED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

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
interface Source {
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

/** Lines with aligned columns, the header first; every cell is made safe to print. */
export function columns(header: string[], rows: string[][]): string[] {
  const safe = [header, ...rows].map((row) => row.map(printable));
  const widths = header.map((_, i) => Math.max(...safe.map((row) => row[i]?.length ?? 0)));
  return safe.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

type Fields = (readonly [name: string, value: string | number | null | undefined | false])[];

/** Returns the lines of a record: its title, then its fields; empty ones are left out. */
export function recordLines(io: Io, title: string, fields: Fields, width = 10): string[] {
  const shown = fields.flatMap(([name, value]) =>
    value ? [`  ${name.padEnd(width)}${printable(String(value))}`] : [],
  );
  return [io.paint('bold', title), ...shown];
}

const EVERY_MS = 1_000;
const POLL_MS = 300;

interface Followed<T> {
  /** Called with each state that is read, the first among them. */
  show: (record: T) => void | Promise<void>;
  isOver: (record: T) => boolean;
  read: (record: T) => Promise<T>;
  signal: AbortSignal;
}

/**
 * Says on a terminal what is under way and for how long, while nothing else is printed.
 * @param doing such as `pausing sbx-…`
 */
export async function withProgress<T>(io: Io, doing: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const show = () => {
    const seconds = Math.round((performance.now() - began) / 1_000);
    io.noteForNow(io.paint('dim', `  ${doing} … ${seconds > 0 ? `${seconds} s` : ''}`));
  };
  show();
  const timer = setInterval(show, EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    io.endNoteForNow();
  }
}

/** Reads a record again and again until it is over. @returns the latest that was read, when the signal ends the wait first */
export async function followRecord<T>(first: T, { show, isOver, read, signal }: Followed<T>): Promise<T> {
  let latest = first;
  try {
    for (;;) {
      await show(latest);
      if (isOver(latest)) return latest;
      await sleep(POLL_MS, undefined, { signal });
      latest = await patiently(() => read(latest), { signal, deadlineSeconds: LIMITS.waitSeconds.max });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return latest;
  }
}
