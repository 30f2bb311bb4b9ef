import { MayflyError } from '../../errors.ts';
import { MOST_OF_A_PATTERN, PathPattern } from './glob.ts';
import { normalizePath } from './paths.ts';

interface Rule {
  pattern: PathPattern;
  isException: boolean;
}

/** Most patterns of a file; each path is matched with each of them. */
const MOST_RULES = 100;

/**
 * Compiles a `.dockerignore` with the semantics of moby's patternmatcher: the last pattern that matches a path or one
 * of its parents decides; `!` includes again, also below an excluded folder.
 * @param file name for messages. `@default` .dockerignore
 * @param cost called with the number of comparisons; may throw. `@default` no-op
 * @throws MayflyError invalid_request
 */
export function compileIgnore(
  text: string,
  file = '.dockerignore',
  cost?: (comparisons: number) => void,
): (path: string) => boolean {
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  const written = lines.map((line) => line.trim()).filter((line, n) => line !== '' && !lines[n]?.startsWith('#'));
  if (written.length > MOST_RULES) {
    throw new MayflyError('invalid_request', `${file} has more than ${MOST_RULES} patterns.`);
  }
  if (written.some(({ length }) => length > MOST_OF_A_PATTERN)) {
    throw new MayflyError('invalid_request', `A pattern of ${file} has more than ${MOST_OF_A_PATTERN} characters.`);
  }
  const rules = written.map(ruleOf).filter((rule) => rule !== null);
  /** Patterns that match a folder or one of its parents, by folder. */
  const matched = new Map<string, boolean[]>([['', rules.map(() => false)]]);
  const matchedBy = (path: string): boolean[] => {
    const known = matched.get(path);
    if (known) return known;
    const above = matchedBy(path.slice(0, Math.max(0, path.lastIndexOf('/'))));
    const parts = path.split('/');
    const found = rules.map(({ pattern }, index) => above[index] === true || pattern.matches(parts, cost));
    matched.set(path, found);
    return found;
  };
  return (path) => {
    let isIgnored = false;
    for (const [index, isMatched] of matchedBy(path).entries()) if (isMatched) isIgnored = !rules[index]?.isException;
    return isIgnored;
  };
}

/** Null: the line has no pattern. */
function ruleOf(line: string): Rule | null {
  const isException = line.startsWith('!');
  const pattern = normalizePath(isException ? line.slice(1).trim() : line);
  return pattern === '' ? null : { pattern: new PathPattern(pattern), isException };
}
