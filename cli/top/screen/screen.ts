import type { Io } from '../../terminal/io.ts';
import { frame } from './frame.ts';
import { press } from './keys.ts';
import { type Action, type State, withSize } from './state.ts';
import { RawTerminal } from './terminal.ts';

/** Time to ignore keys after ssh, ms: they were typed for it, or are a terminal's replies to the guest. */
const IGNORE_KEYS_MS = 250;
/** Time until the screen reopens when the process was not stopped, as without job control, ms. */
const NOT_STOPPED_MS = 50;
/** Debounce of resizes, ms: a dragged window changes size many times a second. */
const RESIZED_MS = 40;

interface ScreenEvents {
  act: (action: Action) => void;
  /** Called when keys have moved the selection. */
  moved: () => void;
}

/** State, and the terminal that shows it while it is open. */
export class Screen {
  readonly #io: Io;
  readonly #events: ScreenEvents;
  readonly #terminal: RawTerminal;
  readonly #resize = () => this.#handleResize();
  #state: State;
  #isLent = false;
  #resizing: NodeJS.Timeout | null = null;
  #deafUntil = 0;

  constructor(io: Io, state: State, events: ScreenEvents) {
    [this.#io, this.#state, this.#events] = [io, state, events];
    this.#terminal = new RawTerminal(process.stdout, process.stdin, {
      key: (key) => this.#key(key),
      suspended: () => this.suspend(),
      continued: () => this.redraw(),
    });
    process.stdout.on('resize', this.#resize);
  }

  get state(): State {
    return this.#state;
  }

  change(change: (state: State) => State): void {
    this.#state = change(this.#state);
    this.#draw();
  }

  open(): void {
    if (this.#isLent) return;
    this.#terminal.hold();
    this.#state = withSize(this.#state, sizeOf(this.#state));
    this.#draw();
  }

  /** Hands the terminal to another program. */
  lend(): void {
    this.#isLent = true;
    this.#terminal.release();
  }

  takeBack(): void {
    this.#isLent = false;
    this.#deafUntil = Date.now() + IGNORE_KEYS_MS;
    this.open();
  }

  redraw(): void {
    this.#terminal.release();
    this.open();
  }

  /** Suspends like Ctrl-Z; reopens when the process continues. */
  suspend(): void {
    this.#terminal.suspend();
    setTimeout(() => this.open(), NOT_STOPPED_MS);
  }

  end(): void {
    this.#isLent = true; // never opens again
    process.stdout.off('resize', this.#resize);
    if (this.#resizing) clearTimeout(this.#resizing);
    this.#terminal.end();
  }

  #key(key: string): void {
    if (Date.now() < this.#deafUntil && key !== 'ctrl-c') return;
    const { state, action } = press(this.#state, key);
    this.#state = state;
    this.#draw();
    this.#events.moved();
    if (action) this.#events.act(action);
  }

  #draw(): void {
    const lines = frame(this.#state, Date.now());
    this.#terminal.draw(lines.map(({ text, style }) => (style ? this.#io.paint(style, text) : text)));
  }

  /** Redraws everything, independent of how the terminal reflowed it. */
  #handleResize(): void {
    this.#resizing ??= setTimeout(() => {
      this.#resizing = null;
      this.#terminal.clear();
      this.open();
    }, RESIZED_MS);
  }
}

/** Returns the terminal's size; the previous one if it reports none. */
function sizeOf({ size }: State) {
  const { columns, rows } = process.stdout;
  return { columns: columns > 0 ? columns : size.columns, rows: rows > 0 ? rows : size.rows };
}
