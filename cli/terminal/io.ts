import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { retryWhileUnavailable } from '../../clients/typescript/http/retry.ts';
import { LIMITS } from '../../model/limits.ts';

/**
 * Characters that a terminal executes instead of showing: C0 and C1 control characters, DEL, and the bidirectional
 * overrides (U+202A-202E, U+2066-2069) that make one text look like another. Names and messages come from guests and
 * callers.
 */
const CONTROL_CHARACTERS = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** Returns `text` as one line without control characters. */
export function printable(text: string): string {
  return text.replace(CONTROL_CHARACTERS, (char) => (char === '\n' || char === '\t' ? ' ' : '\ufffd'));
}

/** Formats JSON on one line; `JSON.stringify` keeps C1 characters and overrides, which terminals execute. */
function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(
    CONTROL_CHARACTERS,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
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
  /** True when a program or a file writes to it; false for a terminal or /dev/null. */
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
  /** Aborted by the first Ctrl-C or SIGTERM. */
  signal: AbortSignal;
  /** Aborted by the second one. */
  force: AbortSignal;
}

/** Output of a command: results to stdout, progress to stderr. */
export class Io {
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly force: AbortSignal;
  readonly stdin: Source;
  /** Set by a command that must clean up even when forced; it exits on its own. */
  endsItself = false;
  /** Set by a command that must end work elsewhere when its results have no reader; never rejects. */
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

  /** True when the reader of the output has ended. */
  get isUnread(): boolean {
    return this.#isUnread;
  }

  /** Drops all further output: a reader such as `head` has ended. */
  dropOutput(): void {
    this.#isUnread = true;
  }

  /** Prints a line of the result. */
  print(line: string): void {
    this.#put('stdout', `${line}\n`);
  }

  /** Prints one JSON document, or one line of NDJSON. */
  printJson(value: unknown): void {
    this.#put('stdout', `${printableJson(value)}\n`);
  }

  /** Writes output of a guest's command, byte for byte, as `ssh` does; resolves when there is room for more. */
  async write(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> {
    const sink = stream === 'stdout' ? this.#stdout : this.#stderr;
    if (this.#put(stream, bytes) !== false || !(sink instanceof EventEmitter)) return;
    await once(sink, 'drain').catch((error: unknown) => {
      if (!this.#isUnread) throw error;
    });
  }

  /** Prints a progress line to stderr. */
  note(line: string): void {
    this.#put('stderr', `${line}\n`);
  }

  /** Prints a line that the next one replaces; on a terminal only. */
  noteForNow(line: string): void {
    if (!this.#stderr.isTTY) return;
    this.#put('stderr', line);
    this.#transient = true;
  }

  /** Removes the line of {@link noteForNow}. */
  endNoteForNow(): void {
    this.#clear();
  }

  /** True when a person reads the result, rather than a file or a program. */
  get isTerminal(): boolean {
    return this.#stdout.isTTY === true;
  }

  /** True when both outputs are a terminal with colours enabled. */
  get colors(): boolean {
    const terminals = this.#stderr.isTTY === true && this.#stdout.isTTY === true;
    return terminals && !this.env['NO_COLOR'] && this.env['TERM'] !== 'dumb';
  }

  /** Escapes untrusted text, and styles it if the terminal supports that (https://no-color.org). */
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

/** Aligns columns, the header first; every cell is escaped. */
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
  /** Called with each state, including the first. */
  show: (record: T) => void | Promise<void>;
  isOver: (record: T) => boolean;
  read: (record: T) => Promise<T>;
  signal: AbortSignal;
}

/** Shows on a terminal the running work and its duration, until other output. @param doing such as `pausing sbx-…` */
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

/** Polls a record until its end. @returns the latest state when the signal ends the wait first */
export async function followRecord<T>(first: T, { show, isOver, read, signal }: Followed<T>): Promise<T> {
  let latest = first;
  try {
    for (;;) {
      await show(latest);
      if (isOver(latest)) return latest;
      await sleep(POLL_MS, undefined, { signal });
      latest = await retryWhileUnavailable(() => read(latest), { signal, deadlineSeconds: LIMITS.waitSeconds.max });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return latest;
  }
}
