import { LIMITS } from '../limits.ts';
import { refusedAt } from './refusal.ts';

/** Where a piece of text stands, and what it is read with. */
export interface Reading {
  line: number;
  /** Makes the next character a plain one. */
  escaper: string;
  /** One for a whole Dockerfile. */
  budget: TextBudget;
}

/** Bounds what the variables of one Dockerfile come to: `ENV A=$A$A` doubles with each line. */
export class TextBudget {
  #left = LIMITS.image.expandedChars;

  /** @throws MayflyError dockerfile_unsupported */
  spend(chars: number, line: number): void {
    this.#left -= chars;
    if (this.#left < 0)
      throw refusedAt(line, `its variables come to more than ${LIMITS.image.expandedChars} characters`);
  }
}

/** The values of variables; what is not there is unset. */
export type Variables = Readonly<Record<string, string>>;

const NAME = /(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#])/y;
const BLANK = /\s/;
/** `${a:-${b:-…}}`: one within the other. */
const MOST_NESTED = 100;

/** Words of a line, split at blanks outside quotes; quotes and escapes stay as they are written. */
export function splitWords(text: string, reading: Pick<Reading, 'escaper'>): string[] {
  return Array.from(eachWord(text, reading), ({ word }) => word);
}

/** Reads no further than the words that are asked for. `end` is where in the text a word ends. */
export function* eachWord(
  text: string,
  { escaper }: Pick<Reading, 'escaper'>,
): Generator<{ word: string; end: number }> {
  let start = -1;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (quote === '' && BLANK.test(char)) {
      if (start >= 0) yield { word: text.slice(start, at), end: at };
      start = -1;
      continue;
    }
    if (start < 0) start = at;
    if (char === escaper && quote !== "'" && at + 1 < text.length) at += 1;
    else if (quote === '' && (char === '"' || char === "'")) quote = char;
    else if (char === quote) quote = '';
  }
  if (start >= 0) yield { word: text.slice(start), end: text.length };
}

/** A word without its quotes and escapes, its variables replaced. @throws MayflyError dockerfile_unsupported */
export function expanded(word: string, variables: Variables, reading: Reading): string {
  return new Expansion(word, variables, reading, true).all();
}

/**
 * A text whose quotes are its own, its variables replaced: of a heredoc, or of the JSON form. As in a here-document of a
 * shell, an escape stands before `$` and itself alone. @throws MayflyError dockerfile_unsupported
 */
export function expandedText(text: string, variables: Variables, reading: Reading): string {
  return new Expansion(text, variables, reading, false).all();
}

class Expansion {
  #at = 0;
  #depth = 0;

  constructor(
    private readonly text: string,
    private readonly variables: Variables,
    private readonly reading: Reading,
    private readonly hasQuotes: boolean,
  ) {}

  /** @param until where it ends, which is passed over; all of it when there is none */
  all(until = ''): string {
    let result = '';
    while (this.#at < this.text.length) {
      const char = this.text.charAt(this.#at++);
      if (char === until) return result;
      if (char === '$') result += this.#variable();
      else if (char === this.reading.escaper) result += this.#escaped(this.hasQuotes ? null : `$${char}${until}`);
      else if (char === "'" && this.hasQuotes) result += this.#quoted();
      else if (char === '"' && this.hasQuotes) result += this.#doubleQuoted();
      else result += char;
    }
    if (until !== '') throw refusedAt(this.reading.line, `\`${until}\` is missing in ${JSON.stringify(this.text)}`);
    return result;
  }

  #quoted(): string {
    const end = this.text.indexOf("'", this.#at);
    if (end < 0) throw this.#unclosed("'");
    const inner = this.text.slice(this.#at, end);
    this.#at = end + 1;
    return inner;
  }

  /** @param before what an escape counts before, else it stays; null: anything */
  #escaped(before: string | null): string {
    const next = this.text.charAt(this.#at++);
    return before === null || (next !== '' && before.includes(next)) ? next : this.reading.escaper + next;
  }

  #doubleQuoted(): string {
    let result = '';
    while (this.#at < this.text.length) {
      const char = this.text.charAt(this.#at++);
      if (char === '"') return result;
      if (char === '$') result += this.#variable();
      else if (char === this.reading.escaper) result += this.#escaped(`"$${char}`);
      else result += char;
    }
    throw this.#unclosed('"');
  }

  /** Behind a `$`. One before nothing that could be a name is a plain one. */
  #variable(): string {
    if (this.text.charAt(this.#at) === '{') {
      this.#at += 1;
      return this.#braced();
    }
    const name = this.#name();
    return name === null ? '$' : (this.#valueOf(name) ?? '');
  }

  #name(): string | null {
    NAME.lastIndex = this.#at;
    const name = NAME.exec(this.text)?.[0] ?? null;
    this.#at += name?.length ?? 0;
    return name;
  }

  #braced(): string {
    const name = this.#name();
    if (name === null) throw this.#unclear();
    const value = this.#valueOf(name);
    if (this.text.charAt(this.#at) === '}') {
      this.#at += 1;
      return value ?? '';
    }
    const isColon = this.text.charAt(this.#at) === ':';
    if (isColon) this.#at += 1;
    const operator = this.text.charAt(this.#at++);
    if (!'-+?'.includes(operator) || operator === '') throw this.#unclear();
    this.#depth += 1;
    if (this.#depth > MOST_NESTED) {
      throw refusedAt(this.reading.line, `more than ${MOST_NESTED} variables stand one within the other`);
    }
    const other = this.all('}');
    this.#depth -= 1;
    const isSet = value !== undefined && !(isColon && value === '');
    if (operator === '+') return isSet ? other : '';
    if (isSet) return value;
    if (operator === '-') return other;
    throw refusedAt(this.reading.line, `${name} is not set: ${other}`);
  }

  #valueOf(name: string): string | undefined {
    const value = Object.hasOwn(this.variables, name) ? this.variables[name] : undefined;
    this.reading.budget.spend(value?.length ?? 0, this.reading.line);
    return value;
  }

  #unclear(): Error {
    const what = `\${…} in ${JSON.stringify(this.text)} is of no kind that is replaced here (\${x}, :-, -, :+, +, :?, ?)`;
    return refusedAt(this.reading.line, what);
  }

  #unclosed(quote: string): Error {
    return refusedAt(this.reading.line, `the quote ${quote} is not closed in ${JSON.stringify(this.text)}`);
  }
}
