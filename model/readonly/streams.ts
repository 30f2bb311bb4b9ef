import type { Stage } from './command.ts';
import { SyntaxFault } from './word.ts';

/** Allowed redirections: to and from /dev/null, and `2>&1`. A word must end after them. */
const REDIRECTION =
  /(?:(?<both>&>[ \t]*\/dev\/null)|(?<err>2>[ \t]*\/dev\/null)|(?<out>1?>[ \t]*\/dev\/null)|(?<join>2>&1)|(?<in><[ \t]*\/dev\/null))(?![^ \t\n|&;<>()])/y;
const OTHER_REDIRECTION = /&>|[0-9]*[<>]/y;

/** Streams of a stage after its redirections, applied from left to right (POSIX, Shell Command Language, 2.7). */
export class Streams {
  #stdin: Stage['stdin'];
  #stdout: 'inherit' | 'null' = 'inherit';
  #stderr: Stage['stderr'] = 'inherit';

  /** @param first true for the first stage of a pipeline */
  constructor(first: boolean) {
    this.#stdin = first ? 'null' : 'pipe';
  }

  /**
   * Consumes a redirection at `position`.
   * @returns its length; 0 when there is none
   * @throws Syntax for a redirection elsewhere
   */
  take(text: string, position: number): number {
    REDIRECTION.lastIndex = position;
    const known = REDIRECTION.exec(text);
    if (known) {
      this.#redirect(known.groups ?? {});
      return known[0].length;
    }
    OTHER_REDIRECTION.lastIndex = position;
    if (!OTHER_REDIRECTION.test(text)) return 0;
    throw new SyntaxFault(
      position,
      'only `>/dev/null`, `2>/dev/null`, `&>/dev/null`, `2>&1` and `</dev/null` are allowed; quote `<` or `>` as text',
    );
  }

  /** Streams; `stdout` only where it differs from the default. */
  get said(): Pick<Stage, 'stdin' | 'stdout' | 'stderr'> {
    const { stdin, stderr } = { stdin: this.#stdin, stderr: this.#stderr };
    return this.#stdout === 'null' ? { stdin, stdout: 'null', stderr } : { stdin, stderr };
  }

  #redirect({ both, err, out, join }: Record<string, string | undefined>): void {
    if (both !== undefined) {
      this.#stdout = 'null';
      this.#stderr = 'null';
    } else if (out !== undefined) this.#stdout = 'null';
    else if (err !== undefined) this.#stderr = 'null';
    else if (join !== undefined) this.#stderr = this.#stdout === 'null' ? 'null' : 'stdout';
    else this.#stdin = 'null';
  }
}
