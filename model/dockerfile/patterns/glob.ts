/** One part of a pattern between two slashes, as Go's filepath.Match has it: `*`, `?`, `[a-z]`, `[^a]`, `\x`. */
type Token = 'any' | { matches(char: string): boolean };

const CHARACTER = /\\?([\s\S])/gu;

/**
 * Whether a name matches. At most as many looks as the pattern and the name have characters, multiplied: patterns are a
 * stranger's, and a regular expression of one could take for ever.
 */
export function matchesName(pattern: string, name: string): boolean {
  const tokens = tokensOf(pattern);
  const chars = Array.from(name);
  let [at, next, star, from] = [0, 0, -1, 0];
  while (at < chars.length) {
    const token = tokens[next];
    if (token === 'any') {
      [star, from] = [next, at];
      next += 1;
    } else if (token?.matches(chars[at] ?? '')) {
      at += 1;
      next += 1;
    } else if (star >= 0) {
      from += 1;
      [at, next] = [from, star + 1];
    } else return false;
  }
  while (tokens[next] === 'any') next += 1;
  return next === tokens.length;
}

/** As {@link matchesName}, part by part; `**` is any number of them. */
export function matchesPath(pattern: readonly string[], path: readonly string[]): boolean {
  // which beginnings of the path the pattern matches so far
  let ends = new Set([0]);
  for (const part of pattern) {
    const reached = new Set<number>();
    if (part === '**') {
      const first = Math.min(...ends);
      for (let end = first; end <= path.length; end++) reached.add(end);
    } else {
      for (const end of ends) {
        const name = path[end];
        if (name !== undefined && matchesName(part, name)) reached.add(end + 1);
      }
    }
    if (reached.size === 0) return false;
    ends = reached;
  }
  return ends.has(path.length);
}

export function isPattern(text: string): boolean {
  return /[*?[\\]/.test(text);
}

function tokensOf(pattern: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; ) {
    const set = /^\[(\^?)((?:\\[\s\S]|[^\]\\])+)\]/.exec(pattern.slice(at));
    const char = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
    if (char === '*') {
      if (tokens.at(-1) !== 'any') tokens.push('any');
    } else if (char === '?') tokens.push({ matches: () => true });
    else if (set) tokens.push(setOf(set[2] ?? '', set[1] === '^'));
    else {
      const literal =
        char === '\\' && at + 1 < pattern.length ? String.fromCodePoint(pattern.codePointAt(at + 1) ?? 0) : char;
      tokens.push({ matches: (other) => other === literal });
      if (literal !== char || char === '\\') at += 1;
    }
    at += set && char === '[' ? set[0].length : char.length;
  }
  return tokens;
}

function setOf(text: string, isNegated: boolean): Token {
  const chars = [...text.matchAll(CHARACTER)].map(([, char = '']) => char);
  const ranges: [string, string][] = [];
  for (let at = 0; at < chars.length; at++) {
    const [low = '', dash, high] = chars.slice(at, at + 3);
    const isRange = dash === '-' && high !== undefined;
    ranges.push([low, isRange ? high : low]);
    if (isRange) at += 2;
  }
  return { matches: (char) => ranges.some(([low, high]) => low <= char && char <= high) !== isNegated };
}
