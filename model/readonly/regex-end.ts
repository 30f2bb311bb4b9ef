/**
 * A bracket expression whose end is the same for every implementation: some know brackets when they look for the end of
 * a pattern and some do not, some take a backslash in them as an escape and some do not.
 */
const BRACKET = /\[\^?(?:\](?:\[:[a-z]+:\]|[^[\]\\]|\\[^[\]])*|(?:\[:[a-z]+:\]|[^[\]\\]|\\[^[\]])+)\]/y;

/**
 * Finds the delimiter that ends a regular expression.
 * @param from After the delimiter that begins it.
 * @returns null when it does not end, or when implementations may differ on where.
 */
export function regexEnd(text: string, from: number, delimiter: string): number | null {
  let at = from;
  while (at < text.length) {
    const char = text.charAt(at);
    if (char === delimiter) return at;
    if (char === '\\') at += 2;
    else if (char === '[') {
      BRACKET.lastIndex = at;
      const bracket = BRACKET.exec(text)?.[0];
      if (bracket === undefined || bracket.replace(/\\./g, '').includes(delimiter)) return null;
      at += bracket.length;
    } else at++;
  }
  return null;
}
