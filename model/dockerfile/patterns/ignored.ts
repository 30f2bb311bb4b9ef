import { MayflyError } from '../../errors.ts';
import { MOST_OF_A_PATTERN, PathPattern } from './glob.ts';
import { cleaned } from './paths.ts';

interface Rule {
  pattern: PathPattern;
  isException: boolean;
}

/** Each path is held against each of them. */
const MOST_RULES = 100;

/**
 * What a `.dockerignore` leaves out, as moby's patternmatcher has it: the last pattern counts that matches a path, or a
 * folder above it; `!` takes back in, also what is below a folder that is left out.
 * @param file the name of where they stand. `@default` .dockerignore
 * @param cost may throw: called with the number of comparisons. `@default` nobody counts them
 * @throws MayflyError invalid_request
 */
export function ignoredBy(
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
  /** Of each folder, which patterns match it or one above it. */
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

/** Null: it names nothing. */
function ruleOf(line: string): Rule | null {
  const isException = line.startsWith('!');
  const pattern = cleaned(isException ? line.slice(1).trim() : line);
  return pattern === '' ? null : { pattern: new PathPattern(pattern), isException };
}
