import type { Span } from './span.ts';
import { valueAt } from './value.ts';

/** Programs that take a secret after a flag of one letter. */
const PROGRAMS: readonly { names: string; flag: string; isJoined?: boolean }[] = [
  { names: 'mysql\\w*|mariadb[\\w-]*|mycli|7za?|7zr', flag: 'p', isJoined: true },
  { names: 'sshpass|mongo\\w*|docker|podman|helm|oras|nerdctl|az|cf|rabbitmqadmin', flag: 'p' },
  { names: '(?:user|group)(?:add|mod)', flag: 'p' },
  { names: 'redis-cli|valkey-cli|https?', flag: 'a' },
  { names: 'ldap\\w+', flag: 'w' },
  { names: 'zip|unzip|sqlcmd|bcp|ipmitool', flag: 'P' },
];
/** Of those that are passed a port, or a user and a group, by the same letter. */
const NO_SECRET = /^(?:\d{1,5}(?::\d{1,5}){0,2}(?:\/(?:tcp|udp))?|\d{1,3}(?:\.\d{1,3}){3}:.*)$/;

const PATTERNS = PROGRAMS.map(({ names, flag, isJoined = false }) => ({
  program: new RegExp(`(?<![\\w.-])(?:${names})(?=\\s)[^\\n;|&]{0,1000}`, 'g'),
  name: new RegExp(`^(?:${names})$`),
  flag: new RegExp(isJoined ? `(?<!\\S)-${flag}(?=\\S)` : `(?<!\\S)-${flag}(?:\\s{1,3}|=|(?=["']))(?!-)`, 'g'),
  alone: isJoined ? null : `-${flag}`,
  joined: isJoined ? `-${flag}` : null,
}));

/** `curl -u user:password`, and what has its flags. */
const USER = /(?<!\S)(?:-u|-U|--user|--proxy-user)(?:=|\s{1,3}|(?=[^\s-]))/g;

/** Of a binary file: `-u` and a colon come by chance in one of a hundred that have 100 kB. */
const CONTROL = /(?![\s\u0080-\u009f])\p{Cc}/u;

/** What follows the flags of programs which are known to take a secret there. */
export function spansAfterFlags(text: string): Span[] {
  const spans: Span[] = [];
  if (!/(?<!\S)-/.test(text)) return spans;
  for (const { program, flag } of PATTERNS) {
    for (const { 0: line, index } of text.matchAll(program)) {
      for (const found of line.matchAll(flag)) {
        const value = valueAt(text, index + found.index + found[0].length);
        if (!NO_SECRET.test(text.slice(value.start, value.end))) spans.push(value);
      }
    }
  }
  for (const { 0: found, index } of text.matchAll(USER)) {
    const value = valueAt(text, index + found.length);
    const user = text.slice(value.start, value.end);
    const password = CONTROL.test(user) ? null : passwordOf(user);
    if (password !== null) spans.push({ start: value.start + password, end: value.end });
  }
  return spans;
}

/** Which argument of a program is a secret because of the one before it: from this offset on; null: none is. */
export function secretFrom(program: string, before: string, argument: string): number | null {
  if (/^(?:-u|-U|--user|--proxy-user)$/.test(before)) return passwordOf(argument);
  const base = program.slice(program.lastIndexOf('/') + 1);
  const known = PATTERNS.filter(({ name }) => name.test(base));
  if (known.some(({ alone }) => alone === before) && !NO_SECRET.test(argument)) return 0;
  const joined = known.find((each) => each.joined !== null && argument.startsWith(each.joined))?.joined;
  return joined === undefined || joined === null || argument.length === joined.length ? null : joined.length;
}

function passwordOf(user: string): number | null {
  const colon = user.indexOf(':');
  return colon <= 0 || colon === user.length - 1 ? null : colon + 1;
}
