import { isSecretName } from './secret-name.ts';
import type { Span } from './span.ts';
import { valueAt } from './value.ts';

/** `NAME=`, `name: `, `"name": "`, `name => `; also within quotes that are escaped, and in a path that is percent-encoded. A word that is too long is no name. */
const ASSIGNMENT = /(?<![\w.-])([\w.-]{1,128})(?:\\{0,3}["'`])?\s{0,3}(?::=|=>|[=:]|%3[AaDd])\s{0,3}/g;
/** `--name value`, `-name value`. */
const FLAG = /(?<![\w.-])--?([A-Za-z][\w.-]{1,63})\s{1,3}(?![\s-])/g;
/** Headers, whose values have spaces. */
const HEADER = /(?:authorization|cookie)$/i;

/** The values that follow the name of a secret. */
export function spansAfterNames(text: string): Span[] {
  return [...after(text, ASSIGNMENT), ...after(text, FLAG)];
}

function* after(text: string, pattern: RegExp): Generator<Span> {
  pattern.lastIndex = 0;
  for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
    const { 0: all, 1: name = '', index } = found;
    if (!isSecretName(name)) continue;
    const value = valueAt(text, index + all.length, HEADER.test(name));
    yield value;
    pattern.lastIndex = Math.max(value.end, index + all.length); // or a word of names would be read once for each
  }
}
