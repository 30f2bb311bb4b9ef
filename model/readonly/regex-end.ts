/** Treatment of bracket expressions in the search for the end of a pattern. */
type Brackets = 'unknown' | 'plain' | 'escaping';
const READINGS: readonly Brackets[] = ['unknown', 'plain', 'escaping'];
const CLASS = /\[:[a-z]+:\]/y;

/**
 * Finds the closing delimiter of a regular expression. Implementations differ: some ignore brackets, some treat a
 * backslash within them as an escape.
 * @param from offset after the opening delimiter
 * @returns null when there is no end, or implementations may disagree
 */
export function findRegexEnd(text: string, from: number, delimiter: string): number | null {
  const ends = new Set(READINGS.map((brackets) => endAs(brackets, text, from, delimiter)));
  const [end = null, ...others] = ends;
  return others.length > 0 ? null : end;
}

function endAs(brackets: Brackets, text: string, from: number, delimiter: string): number | null {
  for (let at = from; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === delimiter) return at;
    if (char === '\\') at++;
    else if (char === '[' && brackets !== 'unknown') at = bracketEnd(text, at, brackets === 'escaping');
  }
  return null;
}

/**
 * Finds the `]` of a bracket expression: not its first character, nor that of `[:alpha:]`; none when it contains `[.`
 * or `[=`.
 */
function bracketEnd(text: string, open: number, escapes: boolean): number {
  let at = open + (text.charAt(open + 1) === '^' ? 2 : 1);
  if (text.charAt(at) === ']') at++;
  for (; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === ']') return at;
    CLASS.lastIndex = at;
    if (char === '\\' && escapes) at++;
    else if (char === '[' && '.='.includes(text.charAt(at + 1) || ' ')) return text.length;
    else if (char === '[') at += (CLASS.exec(text)?.[0].length ?? 1) - 1;
  }
  return text.length;
}
