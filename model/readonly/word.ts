import type { Argument } from './command.ts';

/** Thrown within the grammar; {@link parse} converts it to a refusal. */
export class SyntaxFault extends Error {
  constructor(
    readonly position: number,
    reason: string,
  ) {
    super(reason);
  }
}

export interface Word {
  argument: Argument;
  /** Offset of its first character. */
  position: number;
  /** Offset after the word. */
  end: number;
}

/** Characters that end an unquoted word (POSIX, Shell Command Language, 2.3 Token Recognition). */
const ENDS = ' \t\n|&;<>()';
/** Characters that a backslash escapes within double quotes (ibid., 2.2.3). */
const ESCAPED_IN_DOUBLE = '$`"\\';
/** Characters before which a `$` within double quotes is literal, as in `"foo$"` and `"^a$|^b$"`. */
const AFTER_PLAIN_DOLLAR = '" |)/\\';
/** Braces that no shell expands: no list or range between them. */
const PLAIN_BRACES = /\{[A-Za-z0-9_]*\}/y;

/**
 * Reads the word at `position` with the quotes and backslashes of POSIX sh.
 * @throws Syntax for expansions and unclosed quotes
 */
export function readWord(text: string, position: number): Word {
  return new WordReader(text, position).read();
}

class WordReader {
  /** Literal word. */
  #plain = '';
  /** Word as a pattern: quoted characters are escaped with backslashes. */
  #pattern = '';
  #live = false;
  #bracket = false;
  #at: number;

  constructor(
    private readonly text: string,
    private readonly start: number,
  ) {
    this.#at = start;
  }

  read(): Word {
    for (;;) {
      const char = this.text.charAt(this.#at);
      if (char === '' || ENDS.includes(char)) break;
      if (char === "'") this.#single();
      else if (char === '"') this.#double();
      else if (char === '\\') this.#readEscape();
      else this.#readUnquoted(char);
    }
    const argument = this.#live ? { glob: this.#pattern } : this.#plain;
    return { argument, position: this.start, end: this.#at };
  }

  #addQuoted(part: string): void {
    this.#plain += part;
    this.#pattern += part.replace(/[*?[\]\\!^-]/g, '\\$&');
  }

  #single(): void {
    const end = this.text.indexOf("'", this.#at + 1);
    if (end < 0) throw new SyntaxFault(this.#at, 'this single quote is not closed');
    const newline = this.text.slice(0, end).indexOf('\n', this.#at);
    if (newline >= 0) throw quotedNewline(newline);
    this.#addQuoted(this.text.slice(this.#at + 1, end));
    this.#at = end + 1;
  }

  #double(): void {
    const open = this.#at++;
    for (;;) {
      const char = this.text.charAt(this.#at);
      const next = this.text.charAt(this.#at + 1);
      if (char === '') throw new SyntaxFault(open, 'this double quote is not closed');
      if (char === '"') break;
      if (char === '\n') throw quotedNewline(this.#at);
      const literalDollar = char === '$' && next !== '' && AFTER_PLAIN_DOLLAR.includes(next);
      if ((char === '$' && !literalDollar) || char === '`') throw expansion(this.#at, char);
      const escapes = char === '\\' && next !== '' && ESCAPED_IN_DOUBLE.includes(next);
      this.#addQuoted(escapes ? next : char);
      this.#at += escapes ? 2 : 1;
    }
    this.#at++;
  }

  #readEscape(): void {
    const next = this.text.charAt(this.#at + 1);
    if (next === '') throw new SyntaxFault(this.#at, 'a backslash at the end quotes nothing');
    if (next === '\n')
      throw new SyntaxFault(this.#at, 'a backslash joins lines between words only; put a blank before it');
    this.#addQuoted(next);
    this.#at += 2;
  }

  #readUnquoted(char: string): void {
    if (char === '$' || char === '`') throw expansion(this.#at, char);
    if (char === '~' && (this.#at === this.start || '=:'.includes(this.text.charAt(this.#at - 1)))) {
      throw new SyntaxFault(this.#at, '`~` would be expanded; write the directory out, or quote it');
    }
    const literal = char === '{' || char === '}' ? this.#braces() : char;
    if (char === '*' || char === '?' || (char === ']' && this.#bracket)) this.#live = true;
    if (char === '[') this.#bracket = true;
    this.#plain += literal;
    this.#pattern += literal;
    this.#at += literal.length;
  }

  #braces(): string {
    PLAIN_BRACES.lastIndex = this.#at;
    const braces = PLAIN_BRACES.exec(this.text)?.[0];
    if (braces === undefined) throw new SyntaxFault(this.#at, 'braces would be expanded; quote them');
    return braces;
  }
}

function quotedNewline(position: number): SyntaxFault {
  return new SyntaxFault(position, 'a newline is not allowed in quotes; an argument is one line');
}

function expansion(position: number, char: string): SyntaxFault {
  return new SyntaxFault(
    position,
    `\`${char}\` would be expanded; nothing is. Put it in single quotes when it is meant as it is`,
  );
}
