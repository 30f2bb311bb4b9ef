import { LIMITS } from '../limits.ts';
import { unsupportedAt } from './refusal.ts';

/** Position of a text, with its parser settings. */
export interface ParseContext {
  line: number;
  /** Escape character. */
  escaper: string;
  /** Shared by a whole Dockerfile. */
  budget: TextBudget;
}

/** Limits the total length of expanded variables of a Dockerfile: `ENV A=$A$A` doubles with each line. */
export class TextBudget {
  #left = LIMITS.image.expandedChars;

  /** @throws MayflyError dockerfile_unsupported */
  spend(chars: number, line: number): void {
    this.#left -= chars;
    if (this.#left < 0)
      throw unsupportedAt(line, `its variables come to more than ${LIMITS.image.expandedChars} characters`);
  }
}

/** Values of variables; missing ones are unset. */
export type Variables = Readonly<Record<string, string>>;

const NAME = /(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#])/y;
const BLANK = /\s/;
/** Nesting of `${a:-${b:-…}}`. */
const MOST_NESTED = 100;

/** Splits a line at blanks outside quotes; keeps quotes and escapes. */
export function splitWords(text: string, reading: Pick<ParseContext, 'escaper'>): string[] {
  return Array.from(eachWord(text, reading), ({ word }) => word);
}

/** Splits lazily, so the rest of the text stays unread. `end` is the offset after the word. */
export function* eachWord(
  text: string,
  { escaper }: Pick<ParseContext, 'escaper'>,
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

/** Removes quotes and escapes from a word, and expands its variables. @throws MayflyError dockerfile_unsupported */
export function expandWord(word: string, variables: Variables, reading: ParseContext): string {
  return new Expansion(word, variables, reading, true).all();
}

/**
 * Expands the variables of a heredoc or a JSON form, whose quotes are literal. As in a shell's here-document, only `$`
 * and the escape character can be escaped.
 * @throws MayflyError dockerfile_unsupported
 */
export function expandText(text: string, variables: Variables, reading: ParseContext): string {
  return new Expansion(text, variables, reading, false).all();
}

class Expansion {
  #at = 0;
  #depth = 0;

  constructor(
    private readonly text: string,
    private readonly variables: Variables,
    private readonly reading: ParseContext,
    private readonly hasQuotes: boolean,
  ) {}

  /** Expands up to a terminator, which it consumes. @param until terminator; '': expands the whole text */
  all(until = ''): string {
    let result = '';
    while (this.#at < this.text.length) {
      const char = this.text.charAt(this.#at++);
      if (char === until) return result;
      if (char === '$') result += this.#variable();
      else if (char === this.reading.escaper) result += this.#readEscape(this.hasQuotes ? null : `$${char}${until}`);
      else if (char === "'" && this.hasQuotes) result += this.#readSingleQuoted();
      else if (char === '"' && this.hasQuotes) result += this.#readDoubleQuoted();
      else result += char;
    }
    if (until !== '') throw unsupportedAt(this.reading.line, `\`${until}\` is missing in ${JSON.stringify(this.text)}`);
    return result;
  }

  #readSingleQuoted(): string {
    const end = this.text.indexOf("'", this.#at);
    if (end < 0) throw this.#unclosedQuoteError("'");
    const inner = this.text.slice(this.#at, end);
    this.#at = end + 1;
    return inner;
  }

  /** @param before characters that can be escaped; null: any */
  #readEscape(before: string | null): string {
    const next = this.text.charAt(this.#at++);
    return before === null || (next !== '' && before.includes(next)) ? next : this.reading.escaper + next;
  }

  #readDoubleQuoted(): string {
    let result = '';
    while (this.#at < this.text.length) {
      const char = this.text.charAt(this.#at++);
      if (char === '"') return result;
      if (char === '$') result += this.#variable();
      else if (char === this.reading.escaper) result += this.#readEscape(`"$${char}`);
      else result += char;
    }
    throw this.#unclosedQuoteError('"');
  }

  /** Expands a variable after its `$`. A `$` without a name is literal. */
  #variable(): string {
    if (this.text.charAt(this.#at) === '{') {
      this.#at += 1;
      return this.#readBraced();
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

  #readBraced(): string {
    const name = this.#name();
    if (name === null) throw this.#unsupportedExpansionError();
    const value = this.#valueOf(name);
    if (this.text.charAt(this.#at) === '}') {
      this.#at += 1;
      return value ?? '';
    }
    const isColon = this.text.charAt(this.#at) === ':';
    if (isColon) this.#at += 1;
    const operator = this.text.charAt(this.#at++);
    if (!'-+?'.includes(operator) || operator === '') throw this.#unsupportedExpansionError();
    this.#depth += 1;
    if (this.#depth > MOST_NESTED) {
      throw unsupportedAt(this.reading.line, `more than ${MOST_NESTED} variables stand one within the other`);
    }
    const other = this.all('}');
    this.#depth -= 1;
    const isSet = value !== undefined && !(isColon && value === '');
    if (operator === '+') return isSet ? other : '';
    if (isSet) return value;
    if (operator === '-') return other;
    throw unsupportedAt(this.reading.line, `${name} is not set: ${other}`);
  }

  #valueOf(name: string): string | undefined {
    const value = Object.hasOwn(this.variables, name) ? this.variables[name] : undefined;
    this.reading.budget.spend(value?.length ?? 0, this.reading.line);
    return value;
  }

  #unsupportedExpansionError(): Error {
    const what = `\${…} in ${JSON.stringify(this.text)} is of no kind that is replaced here (\${x}, :-, -, :+, +, :?, ?)`;
    return unsupportedAt(this.reading.line, what);
  }

  #unclosedQuoteError(quote: string): Error {
    return unsupportedAt(this.reading.line, `the quote ${quote} is not closed in ${JSON.stringify(this.text)}`);
  }
}
