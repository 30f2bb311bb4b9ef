import { refusedAt } from './refusal.ts';

/** Where a piece of text stands, and what it is read with. */
export interface Reading {
  line: number;
  /** Makes the next character a plain one. */
  escaper: string;
}

/** The values of variables; what is not there is unset. */
export type Variables = Readonly<Record<string, string>>;

const NAME = /^(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#])/;

/** Words of a line, split at blanks outside quotes; quotes and escapes stay as they are written. */
export function splitWords(text: string, { escaper }: Reading): string[] {
  const words: string[] = [];
  let word = '';
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    const isEscaping = char === escaper && quote !== "'" && at + 1 < text.length;
    if (quote === '' && /\s/.test(char)) {
      if (word !== '') words.push(word);
      word = '';
      continue;
    }
    word += isEscaping ? char + text.charAt(++at) : char;
    if (isEscaping) continue;
    if (quote === '' && (char === '"' || char === "'")) quote = char;
    else if (char === quote) quote = '';
  }
  if (word !== '') words.push(word);
  return words;
}

/** A word without its quotes and escapes, its variables replaced. @throws MayflyError dockerfile_unsupported */
export function expanded(word: string, variables: Variables, reading: Reading): string {
  return new Expansion(word, variables, reading).all();
}

class Expansion {
  #at = 0;

  constructor(
    private readonly text: string,
    private readonly variables: Variables,
    private readonly reading: Reading,
  ) {}

  /** @param until where it ends, which is passed over; all of it when there is none */
  all(until = ''): string {
    let result = '';
    while (this.#at < this.text.length) {
      const char = this.text.charAt(this.#at++);
      if (char === until) return result;
      if (char === "'") result += this.#quoted();
      else if (char === '"') result += this.#doubleQuoted();
      else if (char === '$') result += this.#variable();
      else if (char === this.reading.escaper) result += this.text.charAt(this.#at++);
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

  /** An escape before anything but a quote, `$` or itself stays. */
  #doubleQuoted(): string {
    let result = '';
    while (this.#at < this.text.length) {
      const char = this.text.charAt(this.#at++);
      if (char === '"') return result;
      if (char === '$') result += this.#variable();
      else if (char === this.reading.escaper) {
        const next = this.text.charAt(this.#at++);
        result += next === '"' || next === '$' || next === this.reading.escaper ? next : char + next;
      } else result += char;
    }
    throw this.#unclosed('"');
  }

  /** Behind a `$`. One before nothing that could be a name is a plain one. */
  #variable(): string {
    const rest = this.text.slice(this.#at);
    if (rest.startsWith('{')) {
      this.#at += 1;
      return this.#braced();
    }
    const name = NAME.exec(rest)?.[0];
    if (name === undefined) return '$';
    this.#at += name.length;
    return this.#valueOf(name) ?? '';
  }

  #braced(): string {
    const name = NAME.exec(this.text.slice(this.#at))?.[0];
    if (name === undefined) throw this.#unclear();
    this.#at += name.length;
    const value = this.#valueOf(name);
    if (this.text.charAt(this.#at) === '}') {
      this.#at += 1;
      return value ?? '';
    }
    const isColon = this.text.charAt(this.#at) === ':';
    if (isColon) this.#at += 1;
    const operator = this.text.charAt(this.#at++);
    if (!'-+?'.includes(operator) || operator === '') throw this.#unclear();
    const other = this.all('}');
    const isSet = value !== undefined && !(isColon && value === '');
    if (operator === '+') return isSet ? other : '';
    if (isSet) return value;
    if (operator === '-') return other;
    throw refusedAt(this.reading.line, `${name} is not set: ${other}`);
  }

  #valueOf(name: string): string | undefined {
    return Object.hasOwn(this.variables, name) ? this.variables[name] : undefined;
  }

  #unclear(): Error {
    const what = `\${…} in ${JSON.stringify(this.text)} is of no kind that is replaced here (\${x}, :-, -, :+, +, :?, ?)`;
    return refusedAt(this.reading.line, what);
  }

  #unclosed(quote: string): Error {
    return refusedAt(this.reading.line, `the quote ${quote} is not closed in ${JSON.stringify(this.text)}`);
  }
}
