import type { Span } from './span.ts';

/** Quote, possibly escaped within another text. */
const QUOTE = /\\*["'`]/y;
/** Unquoted shell word, which is longer than YAML's or a query string's. */
const WORD = /(?:[^\s"'`&;\\]|\\[^"'`])+/y;
const LINE = /[^\r\n"'`]+/y;
/** Characters that close a list or an object after a value. */
const CLOSING = ',)}]';

/**
 * Finds the value at an offset: a quoted text with the adjacent parts of its shell word, else a word. An unclosed quote
 * extends to the end, since texts may be truncated.
 * @param isLine an unquoted value extends to the end of its line, like a header's
 */
export function findValue(text: string, at: number, isLine = false): Span {
  QUOTE.lastIndex = at;
  const quote = QUOTE.exec(text)?.[0];
  if (quote === undefined) return plainAt(text, at, isLine);
  const start = at + quote.length;
  const close = closeOf(text, quote, start);
  if (close === -1) return { start, end: text.length };
  const after = plainAt(text, close + quote.length, false);
  return { start, end: after.end > after.start ? after.end : close };
}

function plainAt(text: string, at: number, isLine: boolean): Span {
  const pattern = isLine ? LINE : WORD;
  pattern.lastIndex = at;
  const word = pattern.exec(text)?.[0] ?? '';
  let { length } = word;
  while (length > 0 && CLOSING.includes(word.charAt(length - 1))) length -= 1;
  return { start: at, end: at + length };
}

function closeOf(text: string, quote: string, from: number): number {
  for (let at = text.indexOf(quote, from); at !== -1; at = text.indexOf(quote, at + 1)) {
    if (text[at - 1] !== '\\' || quote.startsWith('\\')) return at;
  }
  return -1;
}
