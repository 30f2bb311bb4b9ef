import type { FileChange } from '../../clients/typescript/http/openapi.ts';
import { type Io, printable } from '../terminal/io.ts';
import { changeText, isOnlyTouched, LETTERS, pathText } from './change-text.ts';

/** Lines aligned with each other: more than a screen, without a noticeable delay. */
const BLOCK = 500;
/** Maximum width of the path column in characters; a longer path shifts only its own line. */
const WIDEST = 64;
const STYLES = { added: 'green', changed: 'yellow', removed: 'red', renamed: 'yellow' } as const;

/** Prints one line per change, like `git status`: a letter, the path, and the changed aspects. */
export class ChangeList {
  readonly #io: Io;
  #held: FileChange[] = [];
  #touched = 0;

  constructor(io: Io) {
    this.#io = io;
  }

  add(change: FileChange): void {
    if (isOnlyTouched(change)) this.#touched++;
    else this.#held.push(change);
    if (this.#held.length >= BLOCK) this.flush();
  }

  /** Prints the pending lines. */
  flush(): void {
    const rows = this.#held.map((change) => ({ change, path: printable(pathText(change)) }));
    const width = Math.min(WIDEST, Math.max(0, ...rows.map(({ path }) => path.length)));
    for (const { change, path } of rows) {
      const letter = this.#io.paint(STYLES[change.change], LETTERS[change.change]);
      this.#io.print(`${letter}  ${path.padEnd(width)}  ${printable(changeText(change))}`.trimEnd());
    }
    this.#held = [];
  }

  end(): void {
    this.flush();
    if (this.#touched === 0) return;
    const folders = this.#touched === 1 ? '1 folder is' : `${this.#touched} folders are`;
    this.#io.print(this.#io.paint('dim', `${folders} left out, of which only the time changed`));
  }
}
