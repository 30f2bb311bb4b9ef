import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

export type Kind = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'char-device';

/** File as the log of operations records it. */
export interface LoggedFile {
  /** Identity, independent of its names. */
  id: number;
  kind: Kind;
  /** Content of a file, bytes as Latin-1; target of a symbolic link. */
  content: string;
  mode: number;
  uid: number;
  gid: number;
  /** Number of the last operation that wrote it. */
  mtime: number;
  xattrs: Record<string, string>;
}

/** Files of a tree by path (bytes as Latin-1); the root is ''. */
export type LoggedTree = Map<string, LoggedFile>;

export function copyOf(tree: LoggedTree): LoggedTree {
  const files = new Map([...new Set(tree.values())].map((file) => [file, structuredClone(file)]));
  return new Map([...tree].map(([path, file]) => [path, files.get(file) ?? file]));
}

export const parentOf = (path: string) => path.slice(0, path.lastIndexOf('/'));
export const isBelow = (path: string, folder: string) => path.startsWith(`${folder}/`);
export const childrenOf = (tree: LoggedTree, folder: string) =>
  [...tree.keys()].filter((path) => path !== '' && parentOf(path) === folder);

export interface Difference {
  change: string;
  path: string;
  from: string | null;
  what: string[];
  after: object;
  before: object | null;
}

/**
 * Returns the expected differences of two states of a tree.
 * @param seesFiles whether the identity of files is known; otherwise nothing counts as renamed. `@default` true
 */
export function differences(before: LoggedTree, after: LoggedTree, seesFiles = true): Difference[] {
  const pairs = pairsOf(before, after, seesFiles);
  const found: Difference[] = [];
  for (const [path, { from, renamed }] of pairs) {
    const [old, now] = [fileAt(before, from), fileAt(after, path)];
    const what = aspects(old, now, sameEntries(before, from, after, path, seesFiles));
    if (!renamed && what.length === 0) continue;
    const change = renamed ? 'renamed' : 'changed';
    const described = { after: describe(after, path, true), before: describe(before, from, false) };
    found.push({ change, path, from: renamed ? from : null, what, ...described });
  }
  const paired = new Set([...pairs.values()].map(({ from }) => from));
  const lone = { from: null, what: [], before: null };
  const only = (tree: LoggedTree, change: string, path: string) =>
    found.push({ change, path, after: describe(tree, path, true), ...lone });
  for (const path of after.keys()) if (!pairs.has(path)) only(after, 'added', path);
  for (const path of before.keys()) if (!paired.has(path)) only(before, 'removed', path);
  return found.sort(byPath);
}

export function byPath(a: Difference, b: Difference): number {
  return `${a.path} ${a.change}` < `${b.path} ${b.change}` ? -1 : 1;
}

type Pairs = Map<string, { from: string; renamed: boolean }>;

/** Pairs later paths with earlier ones: same path and type first, then files that moved for certain. */
function pairsOf(before: LoggedTree, after: LoggedTree, seesFiles: boolean): Pairs {
  const pairs: Pairs = new Map();
  const taken = new Set<string>();
  const pair = (from: string, path: string, renamed: boolean) => {
    if (taken.has(from) || pairs.has(path) || fileAt(before, from).kind !== fileAt(after, path).kind) return;
    pairs.set(path, { from, renamed });
    taken.add(from);
    if (fileAt(after, path).kind !== 'directory') return;
    for (const old of childrenOf(before, from)) {
      const now = path + old.slice(from.length);
      if (after.has(now)) pair(old, now, false);
    }
  };
  pair('', '', false);
  if (!seesFiles) return pairs;
  const lone = (tree: LoggedTree, isDirectory: boolean, has: (path: string) => boolean) =>
    [...tree.keys()].filter((path) => !has(path) && (fileAt(tree, path).kind === 'directory') === isDirectory);
  const byDepth = (a: string, b: string) => a.split('/').length - b.split('/').length;
  for (const from of lone(before, true, (path) => taken.has(path)).sort(byDepth)) {
    const moved = lone(after, true, (path) => pairs.has(path)).find(
      (p) => fileAt(after, p).id === fileAt(before, from).id,
    );
    if (moved !== undefined) pair(from, moved, true);
  }
  const gone = lone(before, false, (path) => taken.has(path));
  const come = lone(after, false, (path) => pairs.has(path));
  for (const from of gone) {
    const { id } = fileAt(before, from);
    const [path, ...others] = come.filter((one) => fileAt(after, one).id === id);
    const isOnly = gone.every((one) => one === from || fileAt(before, one).id !== id);
    if (path !== undefined && others.length === 0 && isOnly) pair(from, path, true);
  }
  return pairs;
}

function aspects(old: LoggedFile, now: LoggedFile, sameEntriesInIt: boolean): string[] {
  const differs = {
    content: now.kind === 'file' && old.content !== now.content,
    target: now.kind === 'symlink' && old.content !== now.content,
    device: now.kind === 'char-device' && old.content !== now.content,
    mode: old.mode !== now.mode,
    owner: old.uid !== now.uid || old.gid !== now.gid,
    xattrs: !isDeepStrictEqual(old.xattrs, now.xattrs),
    mtime: old.mtime !== now.mtime && (now.kind !== 'directory' || sameEntriesInIt),
  };
  return Object.entries(differs).flatMap(([name, is]) => (is ? [name] : []));
}

function sameEntries(before: LoggedTree, from: string, after: LoggedTree, path: string, seesFiles: boolean): boolean {
  const entry = ({ id, kind }: LoggedFile) => (seesFiles ? id : kind);
  const entries = (tree: LoggedTree, folder: string) =>
    new Set(childrenOf(tree, folder).map((one) => `${entry(fileAt(tree, one))} ${one.slice(folder.length)}`));
  return isDeepStrictEqual(entries(before, from), entries(after, path));
}

function describe(tree: LoggedTree, path: string, withDigest: boolean): object {
  const { kind, content, mode, uid, gid, xattrs, id } = fileAt(tree, path);
  const isFile = kind === 'file';
  return {
    type: kind,
    size: isFile ? content.length : null,
    mode: mode.toString(8).padStart(4, '0'),
    uid,
    gid,
    target: kind === 'symlink' ? content : null,
    device: kind === 'char-device' ? content.split(':').map(Number) : null,
    links: kind === 'directory' ? null : [...tree.values()].filter((file) => file.id === id).length,
    xattrs,
    digest: isFile && withDigest ? createHash('sha256').update(content, 'latin1').digest('hex') : null,
  };
}

export function fileAt(tree: LoggedTree, path: string): LoggedFile {
  const file = tree.get(path);
  if (!file) throw new Error(`the log has no ${JSON.stringify(path)}`);
  return file;
}
