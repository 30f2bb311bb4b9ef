import type { SystemFiles } from './change.ts';

export interface User {
  name: string;
  uid: number;
  gid: number;
  comment: string;
  home: string;
  shell: string;
  /** Field of /etc/shadow: a hash, or a value that no password matches; null: no entry. */
  password: string | null;
  /** Supplementary, sorted. */
  groups: string[];
}

export interface Group {
  name: string;
  gid: number;
  members: string[];
}

interface Accounts {
  users: Map<string, User>;
  groups: Map<string, Group>;
}

/** Parses passwd(5), group(5) and shadow(5); skips malformed lines. */
export function parseAccounts({ passwd, group, shadow }: Pick<SystemFiles, 'passwd' | 'group' | 'shadow'>): Accounts {
  const passwords = new Map(linesOf(shadow, 9).map(([name = '', password = '']) => [name, password]));
  const groups = new Map<string, Group>();
  for (const [name = '', , gid = '', members = ''] of linesOf(group, 4)) {
    if (!isNumber(gid)) continue;
    groups.set(name, { name, gid: Number(gid), members: members.split(',').filter(Boolean).sort() });
  }
  const users = new Map<string, User>();
  for (const [name = '', field = '', uid = '', gid = '', comment = '', home = '', shell = ''] of linesOf(passwd, 7)) {
    if (!isNumber(uid) || !isNumber(gid)) continue;
    const password = field === 'x' ? (passwords.get(name) ?? null) : field;
    const of = [...groups.values()].filter(({ members }) => members.includes(name)).map((one) => one.name);
    users.set(name, { name, uid: Number(uid), gid: Number(gid), comment, home, shell, password, groups: of.sort() });
  }
  return { users, groups };
}

/** True for a password hash, unlike values that no password matches (`*`, `!`, `!!`, `!*`, empty). */
export function isHash(password: string | null): boolean {
  return password !== null && /[^*!]/.test(password);
}

/** True for names accepted by useradd and groupadd (NAME_REGEX of Debian's adduser, and `$` for Samba). */
export function isAccountName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?$/.test(name);
}

/** Names the fields that differ between two users; null: none. Never contains a secret. */
export function describeUserDifference(one: User | undefined, other: User | undefined): string | null {
  if (!one || !other) return one === other ? null : 'it is in one alone';
  const differing = (['uid', 'gid', 'comment', 'home', 'shell'] as const).filter(
    (field) => one[field] !== other[field],
  );
  const all: string[] = [...differing, ...(one.groups.join() === other.groups.join() ? [] : ['groups'])];
  return all.length === 0 ? null : all.join(', ');
}

function linesOf(text: string, fields: number): string[][] {
  return text
    .split('\n')
    .map((line) => line.split(':'))
    .filter((parts) => parts.length === fields && parts[0] !== '');
}

function isNumber(text: string): boolean {
  return /^\d{1,10}$/.test(text);
}
