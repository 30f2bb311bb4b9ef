import {
  describeUserDifference,
  type Group,
  isAccountName,
  isHash,
  parseAccounts,
  type User,
} from './change/accounts.ts';
import type { Change, Gap } from './change/change.ts';
import { markUnsafe, type Task, task } from './tasks.ts';

export interface Variable {
  name: string;
  /** User or path that the variable belongs to. */
  of: string;
  kind: 'password hash' | 'file';
}

interface AccountTasks {
  tasks: Task[];
  variables: Variable[];
  left: Gap[];
}

/** Builds tasks for users and groups; removals come first, to free their numbers. */
export function buildAccountTasks({ before, after }: Pick<Change, 'before' | 'after'>): AccountTasks {
  const [old, now] = [parseAccounts(before), parseAccounts(after)];
  const written: AccountTasks = { tasks: [], variables: [], left: [] };
  const uids = [...now.users.values()].map(({ uid }) => uid);
  for (const { name } of old.users.values()) if (!now.users.has(name)) written.tasks.push(...absent('user', name));
  for (const { name } of old.groups.values()) if (!now.groups.has(name)) written.tasks.push(...absent('group', name));
  for (const group of now.groups.values()) {
    if (old.groups.get(group.name)?.gid !== group.gid) addGroup(written, group, now.groups);
  }
  for (const user of now.users.values()) {
    const was = old.users.get(user.name);
    const hasNewPassword = was?.password !== user.password;
    if (was === undefined || hasNewPassword || describeUserDifference(was, user) !== null)
      addUser(written, user, uids, hasNewPassword);
  }
  return written;
}

function absent(kind: 'user' | 'group', name: string): Task[] {
  if (!isAccountName(name)) return [];
  return [task(`Remove the ${kind}`, name, kind, { name: markUnsafe(name), state: 'absent' })];
}

function addGroup({ tasks, left }: AccountTasks, { name, gid }: Group, all: ReadonlyMap<string, Group>): void {
  if (!isAccountName(name)) {
    left.push({ path: '/etc/group', why: `the group ${JSON.stringify(name)} has a name that groupadd does not take` });
    return;
  }
  const isShared = [...all.values()].filter((other) => other.gid === gid).length > 1;
  tasks.push(
    task('Have the group', name, 'group', { name: markUnsafe(name), gid, ...(isShared && { non_unique: true }) }),
  );
}

function addUser(written: AccountTasks, user: User, uids: readonly number[], isOther: boolean): void {
  const { name, uid, gid, comment, home, shell, groups, password } = user;
  if (!isAccountName(name)) {
    const why = `the user ${JSON.stringify(name)} has a name that useradd does not take`;
    written.left.push({ path: '/etc/passwd', why });
    return;
  }
  const args = {
    name: markUnsafe(name),
    uid,
    group: String(gid),
    groups: groups.map(markUnsafe),
    append: false,
    comment: markUnsafe(comment),
    home: markUnsafe(home),
    shell: markUnsafe(shell),
    create_home: false,
    ...(uids.filter((other) => other === uid).length > 1 && { non_unique: true }),
  };
  const secret = isHash(password) ? variableOf(name, written.variables) : null;
  if (secret) written.variables.push({ name: secret, of: name, kind: 'password hash' });
  const given = secret ? `{{ ${secret} }}` : markUnsafe(password ?? '!');
  written.tasks.push(
    task('Have the user', name, 'user', { ...args, ...(isOther && password !== null && { password: given }) }),
  );
}

/** Returns a unique variable name, even for users whose names differ only in characters that variables cannot have. */
function variableOf(user: string, others: readonly Variable[]): string {
  const name = `mayfly_password_${user.toLowerCase().replace(/[^a-z0-9]/g, '_')}`;
  const isTaken = (wanted: string) => others.some((other) => other.name === wanted);
  let free = name;
  for (let n = 2; isTaken(free); n++) free = `${name}_${n}`;
  return free;
}
