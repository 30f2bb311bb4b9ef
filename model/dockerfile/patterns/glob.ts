/** Token of a pattern between two slashes, with the syntax of Go's filepath.Match: `*`, `?`, `[a-z]`, `[^a]`, `\x`. */
type Token = 'any' | { matches(char: string): boolean; comparisons: number };

const CHARACTER = /\\?([\s\S])/gu;
const SET = /\[(\^?)((?:\\[\s\S]|[^\]\\])+)\]/y;
/** `**` between two slashes matches any number of path segments. */
const ANY_PARTS = '**';

/** Longest pattern, characters: Linux has no longer path. */
export const MOST_OF_A_PATTERN = 4_096;

/** Pattern, compiled once for all paths. */
export class PathPattern {
  readonly #parts: readonly (Token[] | typeof ANY_PARTS)[];

  constructor(pattern: string) {
    this.#parts = pattern.split('/').map((part) => (part === ANY_PARTS ? part : parseTokens(part)));
  }

  /** @param cost called with the number of comparisons; may throw */
  matches(path: readonly string[], cost: (comparisons: number) => void = () => undefined): boolean {
    // lengths of the path prefixes that the pattern matches so far
    let ends = new Set([0]);
    for (const part of this.#parts) {
      const reached = new Set<number>();
      cost(ends.size);
      if (part === ANY_PARTS) {
        const first = Math.min(...ends);
        for (let end = first; end <= path.length; end++) reached.add(end);
      } else {
        for (const end of ends) {
          const name = path[end];
          if (name !== undefined && matchesTokens(part, name, cost)) reached.add(end + 1);
        }
      }
      if (reached.size === 0) return false;
      ends = reached;
    }
    return ends.has(path.length);
  }
}

/** True when a name without slashes matches. */
export function matchesName(pattern: string, name: string): boolean {
  return matchesTokens(parseTokens(pattern), name, () => undefined);
}

/** Matches in at most pattern length × name length comparisons; a regular expression could backtrack exponentially. */
function matchesTokens(tokens: readonly Token[], name: string, cost: (comparisons: number) => void): boolean {
  const chars = Array.from(name);
  let [at, next, star, from] = [0, 0, -1, 0];
  let comparisons = 1;
  while (at < chars.length) {
    const token = tokens[next];
    comparisons += token === 'any' || token === undefined ? 1 : token.comparisons;
    if (token === 'any') {
      [star, from] = [next, at];
      next += 1;
    } else if (token?.matches(chars[at] ?? '')) {
      at += 1;
      next += 1;
    } else if (star >= 0) {
      from += 1;
      [at, next] = [from, star + 1];
    } else break;
  }
  cost(comparisons);
  if (at < chars.length) return false;
  while (tokens[next] === 'any') next += 1;
  return next === tokens.length;
}

export function isPattern(text: string): boolean {
  return /[*?[\\]/.test(text);
}

function parseTokens(pattern: string): Token[] {
  const tokens: Token[] = [];
  let hasClose = true;
  for (let at = 0; at < pattern.length; ) {
    SET.lastIndex = at;
    const set = hasClose ? SET.exec(pattern) : null;
    // without a closing bracket here, no later one is closed either
    if (set === null && pattern[at] === '[' && pattern[at + 1] !== ']') hasClose = false;
    const char = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
    if (char === '*') {
      if (tokens.at(-1) !== 'any') tokens.push('any');
    } else if (char === '?') tokens.push({ matches: () => true, comparisons: 1 });
    else if (set) tokens.push(parseSet(set[2] ?? '', set[1] === '^'));
    else {
      const literal =
        char === '\\' && at + 1 < pattern.length ? String.fromCodePoint(pattern.codePointAt(at + 1) ?? 0) : char;
      tokens.push({ matches: (other) => other === literal, comparisons: 1 });
      if (literal !== char || char === '\\') at += 1;
    }
    at += set && char === '[' ? set[0].length : char.length;
  }
  return tokens;
}

function parseSet(text: string, isNegated: boolean): Token {
  const chars = [...text.matchAll(CHARACTER)].map(([, char = '']) => char);
  const ranges: [string, string][] = [];
  for (let at = 0; at < chars.length; at++) {
    const [low = '', dash, high] = chars.slice(at, at + 3);
    const isRange = dash === '-' && high !== undefined;
    ranges.push([low, isRange ? high : low]);
    if (isRange) at += 2;
  }
  const matches = (char: string) => ranges.some(([low, high]) => low <= char && char <= high) !== isNegated;
  return { matches, comparisons: ranges.length };
}
