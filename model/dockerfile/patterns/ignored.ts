import { MayflyError } from '../../errors.ts';
import { matchesPath } from './glob.ts';
import { cleaned } from './paths.ts';

interface Rule {
  parts: string[];
  isException: boolean;
}

/** Each path is held against each of them. */
const MOST_RULES = 100;

/**
 * What a `.dockerignore` leaves out, as moby's patternmatcher has it: the last pattern counts that matches a path, or a
 * folder above it; `!` takes back in, also what is below a folder that is left out.
 * @param file the name of where they stand. `@default` .dockerignore
 * @throws MayflyError invalid_request
 */
export function ignoredBy(text: string, file = '.dockerignore'): (path: string) => boolean {
  const rules = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => !line.startsWith('#'))
    .map((line) => ruleOf(line.trim()))
    .filter((rule) => rule.parts.length > 0);
  if (rules.length > MOST_RULES) {
    throw new MayflyError('invalid_request', `${file} has more than ${MOST_RULES} patterns.`);
  }
  /** Of each folder, which patterns match it or one above it. */
  const matched = new Map<string, boolean[]>([['', rules.map(() => false)]]);
  const matchedBy = (path: string): boolean[] => {
    const known = matched.get(path);
    if (known) return known;
    const above = matchedBy(path.slice(0, Math.max(0, path.lastIndexOf('/'))));
    const parts = path.split('/');
    const found = rules.map(({ parts: pattern }, index) => above[index] === true || matchesPath(pattern, parts));
    matched.set(path, found);
    return found;
  };
  return (path) => {
    let isIgnored = false;
    for (const [index, isMatched] of matchedBy(path).entries()) if (isMatched) isIgnored = !rules[index]?.isException;
    return isIgnored;
  };
}

function ruleOf(line: string): Rule {
  const isException = line.startsWith('!');
  const pattern = cleaned(isException ? line.slice(1).trim() : line);
  return { parts: pattern === '' ? [] : pattern.split('/'), isException };
}
