import type { SystemTexts } from '../../model/playbook/change/change.ts';
import { mergedPath, type PackageChange, packageChange } from '../../model/playbook/change/packages.ts';
import type { ComparedSnapshots, Sides } from './differences.ts';
import { namesIn, textOf } from './system-texts.ts';

export interface PackageFiles {
  /** MD5 by path, of what packages bring; null: a folder or a link, which has none. */
  brought: Map<string, string | null>;
  /** What packages took away, and what they brought before. */
  taken: Set<string>;
  foreign: Set<string>;
}

const LISTS = '/var/lib/apt/lists';
const INFO = '/var/lib/dpkg/info';
/** Of lists of repositories. */
const MOST_LISTS = 40;
/** Their names in dpkg's own files are checked before a path is made of them. */
const PLAIN = /^[a-z0-9][a-z0-9+.-]*(?::[a-z0-9-]+)?$/;

/** What dpkg says of the files of packages that came, went, or have another version. */
export async function packageFiles(
  snapshots: ComparedSnapshots,
  sides: Sides,
  texts: { before: SystemTexts; after: SystemTexts },
  signal: AbortSignal,
): Promise<PackageFiles> {
  const change = packageChange(texts.before, texts.after);
  const files: PackageFiles = { brought: new Map(), taken: new Set(), foreign: new Set() };
  for (const one of [...change.installed, ...change.changed].filter(({ name }) => PLAIN.test(name))) {
    const info = (of: string) => infoOf(snapshots, sides.after, one.name, of, signal);
    for (const path of linesOf(await info('list'))) files.brought.set(mergedPath(path), null);
    for (const line of linesOf(await info('md5sums'))) {
      const [, md5 = '', path = ''] = /^([0-9a-f]{32}) +(.+)$/.exec(line) ?? [];
      if (path !== '') files.brought.set(mergedPath(`/${path}`), md5);
    }
    for (const [path, md5] of one.conffiles) files.brought.set(mergedPath(path), md5);
  }
  const went = [...change.removed, ...change.changed].filter(({ name }) => PLAIN.test(name));
  for (const { name } of went) {
    for (const path of linesOf(await infoOf(snapshots, sides.before, name, 'list', signal)))
      files.taken.add(mergedPath(path));
  }
  files.foreign = foreignAmong(change, await listsIn(snapshots, sides.after, signal));
  return files;
}

/** Packages of more than one architecture have it in the name of their files. */
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

/** What repositories have, as apt knows it: lists that it has fetched, or reads where they are. */
async function listsIn(snapshots: ComparedSnapshots, snapshotId: string, signal: AbortSignal): Promise<string[]> {
  const names = await namesIn(snapshots, snapshotId, LISTS, signal);
  const lists: string[] = [];
  for (const name of names.filter((each) => each.endsWith('_Packages')).slice(0, MOST_LISTS)) {
    const fetched = await textOf(snapshots, snapshotId, `${LISTS}/${name}`, signal);
    const list = fetched === '' ? await textOf(snapshots, snapshotId, placeOf(name), signal) : fetched;
    if (list !== '') lists.push(list);
  }
  return lists;
}

/** Where a list of a `file:` repository lies, of which apt has a link: its name is the path, as URItoFileName of apt writes it. */
function placeOf(name: string): string {
  const path = name
    .replaceAll('_', '/')
    .replace(/%[0-9a-f]{2}/g, (code) => String.fromCharCode(Number(`0x${code.slice(1)}`)));
  return path.replaceAll('/./', '/');
}

/** Those that no list has, in that version; none where there are no lists to look at. */
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
