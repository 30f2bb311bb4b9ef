import type { Span } from './span.ts';
import { findValue } from './value.ts';

/** Programs with a secret after a one-letter flag. */
const PROGRAMS: readonly { names: string; flag: string; isJoined?: boolean }[] = [
  { names: 'mysql\\w*|mariadb[\\w-]*|mycli|7za?|7zr', flag: 'p', isJoined: true },
  { names: 'sshpass|mongo\\w*|docker|podman|helm|oras|nerdctl|az|cf|rabbitmqadmin', flag: 'p' },
  { names: '(?:user|group)(?:add|mod)', flag: 'p' },
  { names: 'redis-cli|valkey-cli|https?', flag: 'a' },
  { names: 'ldap\\w+', flag: 'w' },
  { names: 'zip|unzip|sqlcmd|bcp|ipmitool', flag: 'P' },
];
/** Values of the same flag that are a port, or a user and a group. */
const NO_SECRET = /^(?:\d{1,5}(?::\d{1,5}){0,2}(?:\/(?:tcp|udp))?|\d{1,3}(?:\.\d{1,3}){3}:.*)$/;

const PATTERNS = PROGRAMS.map(({ names, flag, isJoined = false }) => ({
  program: new RegExp(`(?<![\\w.-])(?:${names})(?=\\s)[^\\n;|&]{0,1000}`, 'g'),
  name: new RegExp(`^(?:${names})$`),
  flag: new RegExp(isJoined ? `(?<!\\S)-${flag}(?=\\S)` : `(?<!\\S)-${flag}(?:\\s{1,3}|=|(?=["']))(?!-)`, 'g'),
  alone: isJoined ? null : `-${flag}`,
  joined: isJoined ? `-${flag}` : null,
}));

/** `curl -u user:password`, and programs with the same flags. */
const USER = /(?<!\S)(?:-u|-U|--user|--proxy-user)(?:=|\s{1,3}|(?=[^\s-]))/g;

/**
 * Control characters, which mark a binary file: one in a hundred files of 100 kB contains `-u` and a colon by chance.
 */
const CONTROL = /(?![\s\u0080-\u009f])\p{Cc}/u;

/** Finds secrets after the flags of known programs. */
export function findFlagSecrets(text: string): Span[] {
  const spans: Span[] = [];
  if (!/(?<!\S)-/.test(text)) return spans;
  for (const { program, flag } of PATTERNS) {
    for (const { 0: line, index } of text.matchAll(program)) {
      for (const found of line.matchAll(flag)) {
        const value = findValue(text, index + found.index + found[0].length);
        if (!NO_SECRET.test(text.slice(value.start, value.end))) spans.push(value);
      }
    }
  }
  for (const { 0: found, index } of text.matchAll(USER)) {
    const value = findValue(text, index + found.length);
    const user = text.slice(value.start, value.end);
    const password = CONTROL.test(user) ? null : getPasswordOffset(user);
    if (password !== null) spans.push({ start: value.start + password, end: value.end });
  }
  return spans;
}

/** Returns the offset from which an argument is a secret, given the argument before it; null: no secret. */
export function getSecretOffset(program: string, before: string, argument: string): number | null {
  if (/^(?:-u|-U|--user|--proxy-user)$/.test(before)) return getPasswordOffset(argument);
  const base = program.slice(program.lastIndexOf('/') + 1);
  const known = PATTERNS.filter(({ name }) => name.test(base));
  if (known.some(({ alone }) => alone === before) && !NO_SECRET.test(argument)) return 0;
  const joined = known.find((each) => each.joined !== null && argument.startsWith(each.joined))?.joined;
  return joined === undefined || joined === null || argument.length === joined.length ? null : joined.length;
}

function getPasswordOffset(user: string): number | null {
  const colon = user.indexOf(':');
  return colon <= 0 || colon === user.length - 1 ? null : colon + 1;
}
