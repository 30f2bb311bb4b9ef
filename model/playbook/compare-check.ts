import type { FileChange, GuestName } from '../files/file-change.ts';
import { describeUserDifference, parseAccounts } from './change/accounts.ts';
import { type Gap, keyOf, type SystemFiles } from './change/change.ts';
import { parsePackages } from './change/packages.ts';

interface CheckInput {
  /** Changes of the sandbox. */
  wanted: ReadonlyMap<string, readonly FileChange[]>;
  /** Differences between the sandbox and the fresh one after applying the playbook. */
  remaining: ReadonlyMap<string, readonly FileChange[]>;
  /** Files of the fresh sandbox before, of the sandbox, and of the fresh one after applying. */
  texts: { fresh: SystemFiles; now: SystemFiles; applied: SystemFiles };
  /** Changes known as not expressible, and files whose content is a variable. */
  known: readonly Gap[];
  variables: readonly { name: string; of: string; kind: string }[];
}

export interface CheckOutcome {
  broughtAbout: number;
  paths: number;
  left: Gap[];
  beyond: GuestName[];
}

/** Compares the applied changes with the wanted ones. */
export function compareCheck({ wanted, remaining, texts, known, variables }: CheckInput): CheckOutcome {
  const whys = new Map(known.map(({ path, why }) => [keyOf(path), why]));
  for (const { name, of, kind } of variables) if (kind === 'file') whys.set(of, `its content is the variable ${name}`);
  const left: Gap[] = [];
  for (const [key, changes] of wanted) {
    const rest = remaining.get(key);
    const [first] = changes;
    if (rest && first) left.push({ path: first.path, why: whys.get(key) ?? differenceOf(rest) });
  }
  const beyond = [...remaining].flatMap(([key, [first]]) => (wanted.has(key) || !first ? [] : [first.path]));
  const broughtAbout = wanted.size - left.length;
  return { broughtAbout, paths: wanted.size, left: [...left, ...ofPackages(texts), ...ofAccounts(texts)], beyond };
}

/** Describes changes from the sandbox to the fresh one. */
function differenceOf(changes: readonly FileChange[]): string {
  const said = { added: 'it is still there', removed: 'it is not there', changed: 'it differs', renamed: 'it differs' };
  return changes
    .map(({ change, what }) => (what.length > 0 ? `${said[change]}: ${what.join(', ')}` : said[change]))
    .join('; ');
}

function ofPackages({ fresh, now, applied }: CheckInput['texts']): Gap[] {
  const [before, wanted, found] = [
    parsePackages(fresh).packages,
    parsePackages(now).packages,
    parsePackages(applied).packages,
  ];
  const names = new Set([...before.keys(), ...wanted.keys(), ...found.keys()]);
  return [...names].flatMap((name) => {
    const [want, have] = [wanted.get(name), found.get(name)];
    const path = '/var/lib/dpkg/status';
    if (want?.version !== have?.version) {
      return [{ path, why: `the package ${name} is ${have?.version ?? 'not there'}, not ${want?.version ?? 'gone'}` }];
    }
    if (want?.isAuto === have?.isAuto) return [];
    return [{ path, why: `the package ${name} is marked as installed ${have?.isAuto ? 'automatically' : 'manually'}` }];
  });
}

function ofAccounts({ now, applied }: CheckInput['texts']): Gap[] {
  const [want, have] = [parseAccounts(now), parseAccounts(applied)];
  const users = [...new Set([...want.users.keys(), ...have.users.keys()])].flatMap((name) => {
    const difference = describeUserDifference(want.users.get(name), have.users.get(name));
    return difference === null
      ? []
      : [{ path: '/etc/passwd', why: `the user ${JSON.stringify(name)} differs: ${difference}` }];
  });
  const groups = [...new Set([...want.groups.keys(), ...have.groups.keys()])].flatMap((name) => {
    if (want.groups.get(name)?.gid === have.groups.get(name)?.gid) return [];
    return [{ path: '/etc/group', why: `the group ${JSON.stringify(name)} differs` }];
  });
  return [...users, ...groups];
}
