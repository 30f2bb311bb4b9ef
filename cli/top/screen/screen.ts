import type { Io } from '../../terminal/io.ts';
import { frame } from './frame.ts';
import { press } from './keys.ts';
import { type Action, type State, withSize } from './state.ts';
import { HeldTerminal } from './terminal.ts';

/** What was typed for ssh, or is a terminal's answer to what a guest asked it, is no key of ours. Milliseconds. */
const DEAF_MS = 250;
/** Where nobody stops us, as without job control, we go on by ourselves. Milliseconds. */
const NOT_STOPPED_MS = 50;
/** While a window is dragged its size changes many times a second. Milliseconds. */
const RESIZED_MS = 40;

interface ScreenEvents {
  act: (action: Action) => void;
  /** Keys have moved something. */
  moved: () => void;
}

/** The state, and the terminal that shows it while it is open. */
export class Screen {
  readonly #io: Io;
  readonly #events: ScreenEvents;
  readonly #terminal: HeldTerminal;
  readonly #resize = () => this.#resized();
  #state: State;
  #isLent = false;
  #resizing: NodeJS.Timeout | null = null;
  #deafUntil = 0;

  constructor(io: Io, state: State, events: ScreenEvents) {
    [this.#io, this.#state, this.#events] = [io, state, events];
    this.#terminal = new HeldTerminal(process.stdout, process.stdin, {
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

  /** Gives the terminal to another program. */
  lend(): void {
    this.#isLent = true;
    this.#terminal.release();
  }

  takeBack(): void {
    this.#isLent = false;
    this.#deafUntil = Date.now() + DEAF_MS;
    this.open();
  }

  redraw(): void {
    this.#terminal.release();
    this.open();
  }

  /** As Ctrl-Z does; it is open again when we go on. */
  suspend(): void {
    this.#terminal.suspend();
    setTimeout(() => this.open(), NOT_STOPPED_MS);
  }

  end(): void {
    this.#isLent = true; // nobody opens it again
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

  /** Whatever a terminal does with what it showed, all of it is drawn anew. */
  #resized(): void {
    this.#resizing ??= setTimeout(() => {
      this.#resizing = null;
      this.#terminal.clear();
      this.open();
    }, RESIZED_MS);
  }
}

/** As it is now; a terminal that does not say keeps what it had. */
function sizeOf({ size }: State) {
  const { columns, rows } = process.stdout;
  return { columns: columns > 0 ? columns : size.columns, rows: rows > 0 ? rows : size.rows };
}
