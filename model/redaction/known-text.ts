import type { Span } from './span.ts';

/**
 * Patterns of secrets with a recognizable format. Text may come from a hostile guest, so no pattern is unbounded at
 * each character.
 */
const WHOLE: readonly RegExp[] = [
  /\bmfk_[0-9a-f]{12}_[\w-]{20,43}/g,
  /\bmfw_[0-9a-z]{16}_[\w-]{20,43}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bgithub_pat_\w{20,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bsk-[\w-]{20,}/g,
  /\bey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?/g,
  /(?<=\bhttps?:\/\/[^\s"'`]{1,256}\/(?:web)?hooks?\/)[\w./=+-]{12,}/g,
];
/** Patterns with the secret in the first group. */
const AFTER: readonly RegExp[] = [
  /\b(?:Bearer|Basic|ApiKey)\s{1,3}([\w.~+/-]{8,}=*)/gi,
  /\bAuthorization\b["'`]?\s{0,3}[:=]\s{0,3}["'`]?Token\s{1,3}([^\s"'`]+)/gi,
  /\bpass:([^\s"'`]+)/g,
];

const KEY_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const AUTHORITY = /(https?)?:\/\/([^\s/?#"'`<>\\]+)/gi;
/** Length from which a name alone before the host counts as a token, characters. */
const TOKEN_LENGTH = 16;

export function findKnownFormats(text: string): Span[] {
  return [...privateKeys(text), ...userInfo(text), ...WHOLE.flatMap((each) => whole(text, each)), ...groups(text)];
}

/** Finds private keys, including truncated ones. */
function* privateKeys(text: string): Generator<Span> {
  let at = 0;
  for (const { 0: begin, index } of text.matchAll(KEY_BEGIN)) {
    if (index < at) continue;
    KEY_END.lastIndex = index + begin.length;
    const end = KEY_END.exec(text);
    at = end ? end.index + end[0].length : text.length;
    yield { start: index, end: at };
  }
}

/** Finds the secrets of `scheme://user:password@host` and `https://token@host`. */
function* userInfo(text: string): Generator<Span> {
  for (const { 0: found, 1: http, 2: authority = '', index } of text.matchAll(AUTHORITY)) {
    const end = authority.lastIndexOf('@');
    if (end === -1) continue;
    const colon = authority.slice(0, end).indexOf(':');
    const start = index + found.length - authority.length;
    if (colon !== -1) yield { start: start + colon + 1, end: start + end };
    else if (http && end >= TOKEN_LENGTH) yield { start, end: start + end };
  }
}

function whole(text: string, pattern: RegExp): Span[] {
  return [...text.matchAll(pattern)].map(({ 0: found, index }) => ({ start: index, end: index + found.length }));
}

function* groups(text: string): Generator<Span> {
  for (const pattern of AFTER) {
    for (const { 0: found, 1: secret = '', index } of text.matchAll(pattern)) {
      const end = index + found.length;
      yield { start: end - secret.length, end };
    }
  }
}
