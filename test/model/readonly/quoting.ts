import fc from 'fast-check';

/** Generates arguments: no control characters or line separators, only whole characters. */
export const argument = fc
  .string({ unit: 'grapheme-composite', maxLength: 12 })
  .map((text) => text.replace(/[^\P{Cc}\t]|[\u2028\u2029]/gu, ''));

const QUOTES: ((char: string) => string)[] = [
  (char) => (char === "'" ? `"'"` : `'${char}'`),
  (char) => (/[$`"\\]/.test(char) ? `"\\${char}"` : `"${char}"`),
  (char) => `\\${char}`,
  (char) => (/^[A-Za-z0-9_./:@%+,-]$/.test(char) ? char : `'${char}'`.replace("'''", `"'"`)),
];

/** Quotes an argument for a shell, each character in one of several ways. */
export function quoted(text: string, ways: readonly number[]): string {
  const parts = Array.from(text, (char, n) => QUOTES[(ways[n % ways.length] ?? 0) % QUOTES.length]?.(char) ?? char);
  return parts.length === 0 ? `''` : parts.join('');
}
