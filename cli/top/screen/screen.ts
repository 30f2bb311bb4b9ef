import type { Io } from '../../terminal/io.ts';
import type { Action } from './action.ts';
import { frame, type Line } from './frame.ts';
import { press } from './keys.ts';
import { type State, withSize } from './state.ts';
import { HeldTerminal } from './terminal.ts';
import { openView, type View } from './view.ts';

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
  failed: (error: unknown) => void;
}

/** The state, and the terminal that shows it while it is open. */
export class Screen {
  readonly #io: Io;
  readonly #events: ScreenEvents;
  readonly #terminal: HeldTerminal;
  readonly #resize = () => this.#resized();
  #state: State;
  #view: View | null = null;
  #drawn = '';
  #isLent = false;
  #resizing: NodeJS.Timeout | null = null;
  #deafUntil = 0;

  constructor(io: Io, state: State, events: ScreenEvents) {
    [this.#io, this.#state, this.#events] = [io, state, events];
    this.#terminal = new HeldTerminal(process.stdout, process.stdin, {
      suspended: () => this.suspend(),
      continued: () => this.redraw(),
      released: () => this.#released(),
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
    if (this.#view || this.#isLent) return;
    this.#terminal.hold();
    this.#show();
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

  #show(): void {
    this.#state = withSize(this.#state, sizeOf(this.#state));
    const lines = frame(this.#state, Date.now());
    this.#drawn = keyOf(lines);
    this.#view = openView(this.#io, lines, { onKey: (key) => this.#key(key), onError: this.#events.failed });
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
    if (!this.#view) return;
    const lines = frame(this.#state, Date.now());
    const key = keyOf(lines);
    if (key === this.#drawn) return;
    this.#drawn = key;
    this.#view.draw(lines);
  }

  /** Whatever a terminal does with what it showed, all of it is drawn anew. */
  #resized(): void {
    this.#resizing ??= setTimeout(() => {
      this.#resizing = null;
      if (!this.#view) return;
      this.#released();
      this.#terminal.clear();
      this.#show();
    }, RESIZED_MS);
  }

  #released(): void {
    const view = this.#view;
    this.#view = null;
    view?.end();
  }
}

/** As it is now; a terminal that does not say keeps what it had. */
function sizeOf({ size }: State) {
  const { columns, rows } = process.stdout;
  return { columns: columns > 0 ? columns : size.columns, rows: rows > 0 ? rows : size.rows };
}

function keyOf(lines: readonly Line[]): string {
  return lines.map(({ text, style }) => `${style ?? ''}\u0000${text}`).join('\n');
}
