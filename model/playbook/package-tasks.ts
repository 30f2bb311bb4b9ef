import type { Change, Gap } from './change/change.ts';
import { comparePackages, isValidPackage, type Package } from './change/packages.ts';
import { type Task, task } from './tasks.ts';

export interface PackageTasks {
  tasks: Task[];
  /** Applied changes, for display. */
  said: { name: string; version: string | null; change: 'installed' | 'changed' | 'removed' | 'purged' }[];
  left: Gap[];
}

/** Builds tasks that install exactly the versions of the sandbox, without recommended packages. */
export function buildPackageTasks({ before, after, foreign }: Change): PackageTasks {
  const { installed, changed, removed, marked } = comparePackages(before, after);
  const wanted = [...installed, ...changed];
  const left = wanted.flatMap((one) => getGaps(one, foreign));
  const had = wanted.filter((one) => isValidPackage(one) && !foreign.has(one.name));
  const gone = (isPurge: boolean) =>
    removed.filter((one) => one.purge === isPurge && isValidPackage(one)).map(({ name }) => name);
  const automatic = [...had, ...marked.filter(isValidPackage)].filter(({ isAuto }) => isAuto).map(({ name }) => name);
  const manual = marked.filter((one) => isValidPackage(one) && !one.isAuto).map(({ name }) => name);
  const tasks = [
    ...recordMarks('auto', automatic),
    ...recordMarks('manual', manual),
    ...absent('Remove packages', gone(false), false),
    ...absent('Purge packages', gone(true), true),
    ...(had.length === 0 ? [] : [present(had)]),
    ...setMarks('auto', automatic),
    ...setMarks('manual', manual),
  ];
  return {
    tasks,
    said: [
      ...installed.map(({ name, version }) => ({ name, version, change: 'installed' as const })),
      ...changed.map(({ name, version }) => ({ name, version, change: 'changed' as const })),
      ...removed.map(({ name, purge }) => ({
        name,
        version: null,
        change: purge ? ('purged' as const) : ('removed' as const),
      })),
    ],
    left,
  };
}

function getGaps(one: Package, foreign: ReadonlySet<string>): Gap[] {
  const path = '/var/lib/dpkg/status';
  if (!isValidPackage(one))
    return [{ path, why: `the package ${JSON.stringify(one.name)} has a name or version that dpkg does not take` }];
  if (!foreign.has(one.name)) return [];
  return [
    {
      path,
      why: `the package ${one.name} ${one.version} is in no repository that this machine knows: its file was installed by hand`,
    },
  ];
}

function present(packages: readonly Package[]): Task {
  const args = {
    name: packages.map(({ name, version }) => `${name}=${version}`),
    state: 'present',
    install_recommends: false,
    allow_downgrade: true,
    update_cache: true,
  };
  return task('Install', packages.length === 1 ? 'a package' : `${packages.length} packages`, 'apt', args);
}

function absent(what: string, names: readonly string[], purge: boolean): Task[] {
  if (names.length === 0) return [];
  return [task(what, 'that are no more', 'apt', { name: names, state: 'absent', ...(purge && { purge }) })];
}

/** Records the marks before the installation, since `apt` marks everything it is given as manual. */
function recordMarks(as: 'auto' | 'manual', names: readonly string[]): Task[] {
  if (names.length === 0) return [];
  const more = { register: listOf(as), changed_when: false };
  return [task('Ask which packages were installed', WAYS[as], 'command', { argv: ['apt-mark', `show${as}`] }, more)];
}

/** Sets which packages apt may remove when nothing depends on them. */
function setMarks(as: 'auto' | 'manual', names: readonly string[]): Task[] {
  if (names.length === 0) return [];
  const all = names.map((name) => `'${name}'`).join(', '); // isPackage excludes quotes in names
  const more = { changed_when: `[${all}] | difference(${listOf(as)}.stdout_lines) | length > 0` };
  return [task('Say which packages were installed', WAYS[as], 'command', { argv: ['apt-mark', as, ...names] }, more)];
}

const WAYS = { auto: 'automatically', manual: 'manually' } as const;

function listOf(as: 'auto' | 'manual'): string {
  return `mayfly_installed_${WAYS[as]}`;
}
