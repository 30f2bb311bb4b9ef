import { findRegexEnd } from './regex-end.ts';

/** Commands without arguments: they print, delete or move the read text. */
const SIMPLE = '=dDgGhHnNpPxz';
/** Commands with an optional number. */
const NUMBERED = 'lqQ';
const BRANCHES = 'btT';
const DELIMITERS = '/|,#:!@%+=~_;';
const ADDRESS = /(?:[0-9]+(?:~[0-9]+)?|\$)/y;
const SECOND_ADDRESS = /(?:[0-9]+|\$|[+~][0-9]+)/y;
const BLANKS = /[ \t]*/y;
const BLANKS_AND_SEMICOLONS = /[ \t;]*/y;
const SUBSTITUTE_FLAGS = /[gpiImM0-9]*/y;
const NUMBER = /[ \t]*[0-9]*/y;
const LABEL = /[ \t]*[A-Za-z0-9_]*/y;

/**
 * Returns why a sed script is not allowed; null when it only prints, deletes and substitutes on the way to standard
 * output. Refuses `w`, `W`, `s///w` (write), `e`, `s///e` (run programs), `r`, `R`, `a`, `i`, `c` (read files or text
 * up to the line end), and ambiguous syntax.
 */
export function checkSedScript(script: string): string | null {
  return new SedScript(script).fault();
}

class SedScript {
  #at = 0;

  constructor(private readonly text: string) {}

  fault(): string | null {
    for (;;) {
      this.#skip(BLANKS_AND_SEMICOLONS);
      if (this.#isAtEnd()) return null;
      if (!this.#addresses()) return `sed: this address is not clear at ${this.#at}; write \`/\` in it as \`\\/\``;
      const start = this.#at;
      if (!this.#command()) return `sed: the command at ${start} is not allowed: ${this.text.slice(start, start + 20)}`;
    }
  }

  /** Consumes a command with its terminator. */
  #command(): boolean {
    const command = this.text.charAt(this.#at++);
    if (command === '') return false;
    if (command === '{') return true;
    if (command === 's') return this.#consumeDelimited(true) && this.#skip(SUBSTITUTE_FLAGS) && this.#isTerminated();
    if (command === 'y') return this.#consumeDelimited(false) && this.#isTerminated();
    if (command === ':') return this.#label() && this.#isTerminated();
    if (BRANCHES.includes(command)) return this.#skip(LABEL) && this.#isTerminated();
    if (NUMBERED.includes(command)) return this.#skip(NUMBER) && this.#isTerminated();
    return (command === '}' || SIMPLE.includes(command)) && this.#isTerminated();
  }

  #label(): boolean {
    const before = this.#at;
    this.#skip(LABEL);
    return this.text.slice(before, this.#at).trim() !== '';
  }

  /** True at the end of a command: a `;`, a `}`, a comment or the end. */
  #isTerminated(): boolean {
    this.#skip(BLANKS);
    return this.#isAtEnd() || ';}'.includes(this.text.charAt(this.#at));
  }

  #isAtEnd(): boolean {
    return this.#at >= this.text.length || this.text.charAt(this.#at) === '#';
  }

  /** Consumes the addresses before a command. @returns false for a pattern without a clear end */
  #addresses(): boolean {
    if (!this.#address(ADDRESS)) return false;
    this.#skip(BLANKS);
    if (this.text.charAt(this.#at) === ',') {
      this.#at++;
      this.#skip(BLANKS);
      const before = this.#at;
      if (!this.#address(SECOND_ADDRESS) || this.#at === before) return false;
      this.#skip(BLANKS);
    }
    while (this.text.charAt(this.#at) === '!') {
      this.#at++;
      this.#skip(BLANKS);
    }
    return true;
  }

  #address(plain: RegExp): boolean {
    const char = this.text.charAt(this.#at);
    if (char !== '/' && char !== '\\') return this.#skip(plain);
    const delimiter = char === '/' ? char : this.text.charAt(this.#at + 1);
    if (delimiter === '' || !DELIMITERS.includes(delimiter)) return false;
    const end = findRegexEnd(this.text, this.#at + (char === '/' ? 1 : 2), delimiter);
    if (end === null) return false;
    this.#at = end + 1;
    while (this.#at < this.text.length && 'IM'.includes(this.text.charAt(this.#at))) this.#at++;
    return true;
  }

  /** Consumes the two parts of `s` or `y`. */
  #consumeDelimited(regex: boolean): boolean {
    const delimiter = this.text.charAt(this.#at);
    if (delimiter === '' || !DELIMITERS.includes(delimiter)) return false;
    const middle = regex ? findRegexEnd(this.text, this.#at + 1, delimiter) : this.#plainEnd(this.#at + 1, delimiter);
    const end = middle === null ? null : this.#plainEnd(middle + 1, delimiter);
    if (end === null) return false;
    this.#at = end + 1;
    return true;
  }

  #plainEnd(from: number, delimiter: string): number | null {
    for (let at = from; at < this.text.length; at++) {
      if (this.text.charAt(at) === delimiter) return at;
      if (this.text.charAt(at) === '\\') at++;
    }
    return null;
  }

  #skip(pattern: RegExp): true {
    pattern.lastIndex = this.#at;
    this.#at += pattern.exec(this.text)?.[0].length ?? 0;
    return true;
  }
}
