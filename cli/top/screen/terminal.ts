import { emitKeypressEvents, type Key } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';

const CLEAR = '\u001b[2J\u001b[H';
/** Alternate screen without a cursor, and without wrapping of lines wider than computed. */
const ENTER = `\u001b[?1049h\u001b[?25l\u001b[?7l${CLEAR}`;
/** Restores the shell's modes: also after a guest's session that has left mouse, paste or cursor keys in a mode. */
const LEAVE =
  '\u001b[0m\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[?1l\u001b>\u001b[?7h\u001b[?25h\u001b[?1049l';
/** Time in which the rest of an escape sequence follows; after it an escape is a key of its own, ms. */
const ESCAPE_MS = 50;
/** Keys that only move; a slow connection delivers several at once. */
const MOVES = new Set(['j', 'k', 'g', 'G', ' ', 'up', 'down', 'pageup', 'pagedown']);

interface TerminalEvents {
  /** Receives a character, or the name of a key. */
  key: (key: string) => void;
  /** Called for a stop signal. */
  suspended: () => void;
  /** Called when the process continues. */
  continued: () => void;
}

/** Raw terminal, restored when the process ends in any way but SIGKILL. */
export class RawTerminal {
  readonly #out: WriteStream;
  readonly #in: ReadStream;
  readonly #quit = () => this.#endBy('SIGQUIT');
  readonly #exit = () => this.release();
  readonly #press = (text: string | undefined, key: Key) => this.#collectKey(nameKey(text, key));
  readonly #events: TerminalEvents;
  #isHeld = false;
  #drawn: readonly string[] = [];
  #keys: string[] = [];

  constructor(out: WriteStream, input: ReadStream, events: TerminalEvents) {
    this.#out = out;
    this.#in = input;
    this.#events = events;
    emitKeypressEvents(input, { escapeCodeTimeout: ESCAPE_MS } as never);
    process.on('exit', this.#exit);
    process.on('SIGQUIT', this.#quit);
    process.on('SIGTSTP', events.suspended);
    process.on('SIGCONT', events.continued);
  }

  hold(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#drawn = [];
    this.#out.write(ENTER);
    this.#in.on('keypress', this.#press).setRawMode(true).resume();
  }

  /**
   * Writes the lines that differ from those of the last call; each fits the terminal, and their number never changes.
   */
  draw(lines: readonly string[]): void {
    if (!this.#isHeld) return;
    const changed = lines.map((line, nth) => (line === this.#drawn[nth] ? '' : `\u001b[2K${line}`));
    if (changed.some((line) => line !== '')) this.#out.write(`\u001b[H${changed.join('\r\n')}`);
    this.#drawn = lines;
  }

  clear(): void {
    if (this.#isHeld) this.#out.write(CLEAR);
    this.#drawn = [];
  }

  /** Returns the terminal to another program: a shell, or ssh. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#in.off('keypress', this.#press).setRawMode(false).pause();
    this.#out.write(LEAVE);
  }

  /** Stops this process and those started with it, like Ctrl-Z. Returns when it continues. */
  suspend(): void {
    this.release();
    process.off('SIGTSTP', this.#events.suspended);
    try {
      process.kill(0, 'SIGTSTP');
    } finally {
      process.on('SIGTSTP', this.#events.suspended);
    }
  }

  /** Ends for good. */
  end(): void {
    this.release();
    process.off('exit', this.#exit);
    process.off('SIGQUIT', this.#quit);
    process.off('SIGTSTP', this.#events.suspended);
    process.off('SIGCONT', this.#events.continued);
  }

  #endBy(signal: NodeJS.Signals): void {
    this.end();
    process.kill(process.pid, signal);
  }

  /** Gathers the keys that arrive together, since only their number distinguishes a pasted text from typing. */
  #collectKey(key: string): void {
    if (this.#keys.push(key) === 1) queueMicrotask(() => this.#emitKeys());
  }

  /** Ignores a pasted text, except keys that move: otherwise it could open a question and answer it with yes. */
  #emitKeys(): void {
    const keys = this.#keys;
    this.#keys = [];
    if (keys.includes('ctrl-c')) this.#events.key('ctrl-c');
    else if (keys.length === 1 || keys.every((key) => MOVES.has(key))) keys.forEach(this.#events.key);
  }
}

/** Returns the character, or the name that `press` knows; with Ctrl or Alt it is another key. */
function nameKey(text: string | undefined, { name = '', ctrl, meta, shift }: Key): string {
  if (name === 'escape') return name;
  if (ctrl || meta) return `${ctrl ? 'ctrl' : 'alt'}-${name}`;
  if (name === 'return') return 'enter';
  if (name === 'tab') return shift ? 'shift-tab' : 'tab';
  return text ?? name;
}
