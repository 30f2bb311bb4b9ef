import { LIMITS } from '../limits.ts';
import type { Variable } from './account-tasks.ts';
import { type Change, type Entry, type Gap, keyOf } from './change/change.ts';
import { isSecretFile, isSecretPath } from './change/secrets.ts';
import { getPathRefusal, markUnsafe, type Task, task } from './tasks.ts';

interface FileTasks {
  /** Before the installation of packages, and after it. */
  first: Task[];
  last: Task[];
  files: { name: string; bytes: Uint8Array }[];
  variables: Variable[];
  left: Gap[];
}

const RELOADED = /^\/(?:etc|usr\/local\/lib|usr\/lib)\/systemd\/system\//;
export const RELOAD = 'Reload systemd';
/** Extended attributes that no module of ansible.builtin sets. */
const XATTRS: Record<string, string> = {
  'security.capability': 'capabilities',
  'system.posix_acl_access': 'an access control list',
  'system.posix_acl_default': 'a default access control list',
};

/** Builds tasks for files, folders and links: removals first, then parents before their content. */
export function buildFileTasks(change: Change): FileTasks {
  const written: FileTasks = { first: [], last: [], files: [], variables: [], left: [] };
  const there = new Set(change.entries.map(({ path }) => keyOf(path)));
  for (const path of change.gone) remove(written, path, there.has(keyOf(path)) ? entryAt(change, path) : null);
  let count = 0;
  for (const entry of change.entries) {
    if (typeof entry.path === 'string' && change.packaged.has(entry.path)) continue;
    const why =
      getGapReason(entry) ?? (count >= LIMITS.playbook.paths ? `there are more than ${LIMITS.playbook.paths}` : null);
    if (why !== null) {
      written.left.push({ path: entry.path, why });
      continue;
    }
    count += 1;
    add(written, entry, isAfterPackages(entry, change.listed));
  }
  return written;
}

function entryAt({ entries }: Change, path: Entry['path']): Entry | null {
  return entries.find((entry) => keyOf(entry.path) === keyOf(path)) ?? null;
}

/** True for paths of a package, or below its folders: they are changed after the installation. */
function isAfterPackages({ path }: Entry, listed: ReadonlySet<string>): boolean {
  if (typeof path !== 'string') return false;
  for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) if (listed.has(at)) return true;
  return false;
}

function getGapReason({ path, type, target, bytes, isKept, sameAs, why }: Entry): string | null {
  if (typeof path !== 'string') return 'its name is not UTF-8, which YAML cannot say';
  if (isSecretPath(path)) return 'its name looks like a secret';
  const unusable = getPathRefusal(path) ?? getPipReason(path);
  if (unusable !== null) return unusable;
  if (type === 'symlink') {
    if (typeof target !== 'string') return 'it points to a name that is not UTF-8';
    return (
      getPathRefusal(target) ?? (/^~|^$/.test(target) ? 'Ansible takes a `~` that a link points to for a home' : null)
    );
  }
  if (type !== 'file' && type !== 'directory') return `it is a ${type}, which no module of ansible.builtin makes`;
  if (type === 'file' && !isKept && sameAs === null && bytes === null) return why ?? 'its content was not read';
  return null;
}

/** Explains a file installed by pip; its .dist-info folder (PEP 376) names the package. */
function getPipReason(path: string): string | null {
  const [, inside] = /\/(?:site|dist)-packages\/(.+)$/.exec(path) ?? [];
  if (inside === undefined) return null;
  const [, name, version] = /^([^/]+)-([^/-]+)\.dist-info$/.exec(inside) ?? [];
  return name
    ? `the package ${name} ${version} of pip is not expressed`
    : 'it is of a package of pip, which is not expressed';
}

function remove(written: FileTasks, path: Entry['path'], other: Entry | null): void {
  if (typeof path !== 'string') {
    written.left.push({ path, why: 'it is no more, and its name is not UTF-8' });
    return;
  }
  const why = getPathRefusal(path) ?? (isSecretPath(path) ? 'its name looks like a secret' : null);
  if (why !== null) {
    written.left.push({ path, why });
    return;
  }
  const absent = { path: markUnsafe(path), state: 'absent' };
  if (other === null) {
    written.first.push(task('Remove', path, 'file', absent));
    return;
  }
  const result = 'mayfly_there';
  const is = { directory: 'isdir', symlink: 'islnk' }[other.type as 'directory' | 'symlink'] ?? 'isreg';
  const condition = [`${result}.stat.exists`, `not ${result}.stat.${is}`];
  written.first.push(
    task('Look at', path, 'stat', { path: markUnsafe(path), follow: false }, { register: result }),
    task('Make way at', path, 'file', absent, { when: condition }),
  );
}

function add(written: FileTasks, entry: Entry, isBehind: boolean): void {
  const path = entry.path as string;
  for (const name of entry.xattrs)
    written.left.push({ path, why: `${XATTRS[name] ?? `the extended attribute ${name}`} is not expressed` });
  const tasks = isBehind ? written.last : written.first;
  const more = RELOADED.test(path) ? { notify: RELOAD } : {};
  tasks.push(taskOf(written, entry, path, more));
}

function taskOf(written: FileTasks, entry: Entry, path: string, more: Task): Task {
  const { type, target, mode, uid, gid, sameAs, isKept, bytes } = entry;
  const owned = { owner: String(uid), group: String(gid), follow: false };
  const all = { ...owned, mode: mode.toString(8).padStart(4, '0') };
  if (type === 'symlink') {
    const to = target as string;
    const args = { src: markUnsafe(to), path: markUnsafe(path), state: 'link', force: true, ...owned };
    return task(unitName(path, to) ?? 'Link', path, 'file', args, more);
  }
  if (type === 'directory')
    return task('Have the folder', path, 'file', { path: markUnsafe(path), state: 'directory', ...all }, more);
  if (typeof sameAs === 'string') {
    return task(
      'Give another name',
      path,
      'file',
      { src: markUnsafe(sameAs), path: markUnsafe(path), state: 'hard', ...all },
      more,
    );
  }
  if (isKept)
    return task('Have mode and owner of', path, 'file', { path: markUnsafe(path), state: 'file', ...all }, more);
  return task(
    'Write',
    path,
    'copy',
    { src: sourceOf(written, path, bytes ?? new Uint8Array()), dest: markUnsafe(path), ...all },
    more,
  );
}

/** Describes a link of a systemd unit, for display. */
function unitName(path: string, target: string): string | null {
  if (!path.startsWith('/etc/systemd/system/')) return null;
  if (target === '/dev/null') return 'Mask the unit';
  return /\.(?:wants|requires|upholds)\/[^/]+$/.test(path) ? 'Enable the unit' : null;
}

function sourceOf(written: FileTasks, path: string, bytes: Uint8Array): string {
  if (isSecretFile(path, bytes)) {
    const name = `mayfly_secret_${written.variables.length + 1}`;
    written.variables.push({ name, of: path, kind: 'file' });
    return `{{ ${name} }}`;
  }
  const name = `files/${String(written.files.length + 1).padStart(4, '0')}`;
  written.files.push({ name, bytes });
  return name;
}
