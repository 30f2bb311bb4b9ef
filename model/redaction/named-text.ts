import { isSecretName } from './secret-name.ts';
import type { Span } from './span.ts';
import { findValue } from './value.ts';

/**
 * `NAME=`, `name: `, `"name": "`, `name => `; also with escaped quotes, or percent-encoded in a path. A longer word is
 * not a name.
 */
const ASSIGNMENT = /(?<![\w.-])([\w.-]{1,128})(?:\\{0,3}["'`])?\s{0,3}(?::=|=>|[=:]|%3[AaDd])\s{0,3}/g;
/** `--name value`, `-name value`. */
const FLAG = /(?<![\w.-])--?([A-Za-z][\w.-]{1,63})\s{1,3}(?![\s-])/g;
/** Headers, whose values contain spaces. */
const HEADER = /(?:authorization|cookie)$/i;

/** Finds the values after names of secrets. */
export function findNamedSecrets(text: string): Span[] {
  return [...after(text, ASSIGNMENT), ...after(text, FLAG)];
}

function* after(text: string, pattern: RegExp): Generator<Span> {
  pattern.lastIndex = 0;
  for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
    const { 0: all, 1: name = '', index } = found;
    if (!isSecretName(name)) continue;
    const value = findValue(text, index + all.length, HEADER.test(name));
    yield value;
    pattern.lastIndex = Math.max(value.end, index + all.length); // avoids rescans of a sequence of names
  }
}
