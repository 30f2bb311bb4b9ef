import type { SystemFiles } from '../../model/playbook/change/change.ts';
import { comparePackages, type PackageChange, toMergedPath } from '../../model/playbook/change/packages.ts';
import type { ComparedSnapshots, Sides } from './differences.ts';
import { namesIn, textOf } from './system-texts.ts';

export interface PackageFiles {
  /** Files that packages install: MD5 by path; null: a folder or link, without one. */
  brought: Map<string, string | null>;
  /** Paths that packages removed, or installed in an earlier version. */
  taken: Set<string>;
  foreign: Set<string>;
}

const LISTS = '/var/lib/apt/lists';
const INFO = '/var/lib/dpkg/info';
/** Limit of repository lists. */
const MAX_LISTS = 40;
/** Pattern of package names; names in dpkg's files are checked before use in a path. */
const PLAIN = /^[a-z0-9][a-z0-9+.-]*(?::[a-z0-9-]+)?$/;

/** Returns dpkg's files of packages that were installed, removed or changed. */
export async function packageFiles(
  snapshots: ComparedSnapshots,
  sides: Sides,
  texts: { before: SystemFiles; after: SystemFiles },
  signal: AbortSignal,
): Promise<PackageFiles> {
  const change = comparePackages(texts.before, texts.after);
  const files: PackageFiles = { brought: new Map(), taken: new Set(), foreign: new Set() };
  for (const one of [...change.installed, ...change.changed].filter(({ name }) => PLAIN.test(name))) {
    const info = (of: string) => infoOf(snapshots, sides.after, one.name, of, signal);
    for (const path of linesOf(await info('list'))) files.brought.set(toMergedPath(path), null);
    for (const line of linesOf(await info('md5sums'))) {
      const [, md5 = '', path = ''] = /^([0-9a-f]{32}) +(.+)$/.exec(line) ?? [];
      if (path !== '') files.brought.set(toMergedPath(`/${path}`), md5);
    }
    for (const [path, md5] of one.conffiles) files.brought.set(toMergedPath(path), md5);
  }
  const went = [...change.removed, ...change.changed].filter(({ name }) => PLAIN.test(name));
  for (const { name } of went) {
    for (const path of linesOf(await infoOf(snapshots, sides.before, name, 'list', signal)))
      files.taken.add(toMergedPath(path));
  }
  files.foreign = foreignAmong(change, await listsIn(snapshots, sides.after, signal));
  return files;
}

/** Reads a dpkg info file. Multi-arch packages have the architecture in the name of their files. */
async function infoOf(
  snapshots: ComparedSnapshots,
  snapshotId: string,
  name: string,
  of: string,
  signal: AbortSignal,
): Promise<string> {
  const plain = await textOf(snapshots, snapshotId, `${INFO}/${name}.${of}`, signal);
  if (plain !== '' || name.includes(':')) return plain;
  return textOf(snapshots, snapshotId, `${INFO}/${name}:amd64.${of}`, signal);
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && line !== '/.');
}

/** Returns apt's package lists of repositories, fetched or read in place. */
async function listsIn(snapshots: ComparedSnapshots, snapshotId: string, signal: AbortSignal): Promise<string[]> {
  const names = await namesIn(snapshots, snapshotId, LISTS, signal);
  const lists: string[] = [];
  for (const name of names.filter((each) => each.endsWith('_Packages')).slice(0, MAX_LISTS)) {
    const fetched = await textOf(snapshots, snapshotId, `${LISTS}/${name}`, signal);
    const list = fetched === '' ? await textOf(snapshots, snapshotId, placeOf(name), signal) : fetched;
    if (list !== '') lists.push(list);
  }
  return lists;
}

/**
 * Returns the path of a `file:` repository's list, to which apt has a link: the name is the path, encoded by apt's
 * URItoFileName.
 */
function placeOf(name: string): string {
  const path = name
    .replaceAll('_', '/')
    .replace(/%[0-9a-f]{2}/g, (code) => String.fromCharCode(Number(`0x${code.slice(1)}`)));
  return path.replaceAll('/./', '/');
}

/** Returns packages that no list has in that version; none without lists. */
function foreignAmong({ installed, changed }: PackageChange, lists: readonly string[]): Set<string> {
  if (lists.length === 0) return new Set();
  const wanted = new Map(
    [...installed, ...changed].map(({ name, version }) => [name.replace(/:.*/, ''), { name, version }]),
  );
  for (const list of lists) {
    let name = '';
    for (const line of list.split('\n')) {
      if (line.startsWith('Package: ')) name = line.slice(9);
      else if (line.startsWith('Version: ') && wanted.get(name)?.version === line.slice(9)) wanted.delete(name);
    }
  }
  return new Set([...wanted.values()].map((one) => one.name));
}
