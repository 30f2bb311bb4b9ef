import type { ReadStream, WriteStream } from 'node:tty';

/** The other screen, no wrapping of lines that a terminal finds longer than we do, everything empty. */
const ENTER = '\u001b[?1049h\u001b[?7l\u001b[2J\u001b[H';
/** As a shell wants it: also where a guest that somebody was logged in to has left mouse, paste or cursor keys in a mode. */
const LEAVE =
  '\u001b[0m\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[?1l\u001b>\u001b[?7h\u001b[?25h\u001b[?1049l';

export interface TerminalEvents {
  /** Somebody wants us stopped. */
  suspended: () => void;
  /** We go on. */
  continued: () => void;
  /** Just before it is given back. */
  released: () => void;
}

/** A terminal that is ours for a while. However the process ends, but by SIGKILL, it is given back. */
export class HeldTerminal {
  readonly #out: WriteStream;
  readonly #in: ReadStream;
  readonly #quit = () => this.#endBy('SIGQUIT');
  readonly #exit = () => this.release();
  readonly #events: TerminalEvents;
  #isHeld = false;

  constructor(out: WriteStream, input: ReadStream, events: TerminalEvents) {
    this.#out = out;
    this.#in = input;
    this.#events = events;
    process.on('exit', this.#exit);
    process.on('SIGQUIT', this.#quit);
    process.on('SIGTSTP', events.suspended);
    process.on('SIGCONT', events.continued);
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  hold(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#out.write(ENTER);
  }

  clear(): void {
    if (this.#isHeld) this.#out.write('\u001b[2J\u001b[H');
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#events.released();
    this.#in.setRawMode(false);
    this.#stopReading();
    this.#out.write(LEAVE);
  }

  /** Stops this process and those that were started with it, as Ctrl-Z does. Returns when it goes on. */
  suspend(): void {
    this.release();
    process.off('SIGTSTP', this.#events.suspended);
    try {
      process.kill(0, 'SIGTSTP');
    } finally {
      process.on('SIGTSTP', this.#events.suspended);
    }
  }

  /** For good. */
  end(): void {
    this.release();
    process.off('exit', this.#exit);
    process.off('SIGQUIT', this.#quit);
    process.off('SIGTSTP', this.#events.suspended);
    process.off('SIGCONT', this.#events.continued);
  }

  /** What is typed from now on is somebody else's: of a shell, or of ssh. */
  #stopReading(): void {
    // Not at once: as long as the stream knows of a listener that has just gone, pausing it does nothing.
    setImmediate(() => {
      if (!this.#isHeld) this.#in.pause();
    });
  }

  #endBy(signal: NodeJS.Signals): void {
    this.end();
    process.kill(process.pid, signal);
  }
}
