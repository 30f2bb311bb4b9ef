import type { Span } from './span.ts';

/** A quote, also one that is escaped because the text is within another. */
const QUOTE = /\\*["'`]/y;
/** A shell's word without quotes, which is more than what YAML or a query string would take. */
const WORD = /(?:[^\s"'`&;\\]|\\[^"'`])+/y;
const LINE = /[^\r\n"'`]+/y;
/** What ends a list or an object around a value. */
const CLOSING = ',)}]';

/**
 * The value that begins at an offset: within its quotes, with what a shell would join to it; else a word. A quote that is not
 * closed goes to the end of the text, since texts are cut off.
 * @param isLine without quotes it goes to the end of its line, as a header's does
 */
export function valueAt(text: string, at: number, isLine = false): Span {
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
