import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import {
  FILE_ASPECTS,
  type FileAspect,
  type FileChange,
  type FileDescription,
  type GuestName,
} from '../../../model/files/file-change.ts';
import type { TarEntry } from '../../disk/tar-entries.ts';
import type { SavedFiles } from './saved-tree.ts';

/** Difference without the files' link counts, which the tree has. */
export type Difference = Pick<FileChange, 'change' | 'what'> & { before: TarEntry | null; after: TarEntry | null };

/**
 * Yields the differences of two trees, folders before their content. Renames are not detected: files of a copied tree
 * have no common identity.
 */
export function* differences(before: SavedFiles, after: SavedFiles): Generator<Difference> {
  const names = [entriesOf(before), entriesOf(after)] as const;
  for (const path of [...new Set([...before.keys(), ...after.keys()])].sort(comparePaths)) {
    const [old, now] = [before.get(path) ?? null, after.get(path) ?? null];
    if (old && now && old.type === now.type) {
      const what = aspects(old, now, names[0].get(path) === names[1].get(path));
      if (what.length > 0) yield { change: 'changed', what, before: old, after: now };
      continue;
    }
    if (old) yield { change: 'removed', what: [], before: old, after: null };
    if (now) yield { change: 'added', what: [], before: null, after: now };
  }
}

function aspects(old: TarEntry, now: TarEntry, sameNames: boolean): FileAspect[] {
  const differs: Record<FileAspect, boolean> = {
    content: old.digest !== now.digest,
    target: old.target !== now.target,
    device: String(old.device) !== String(now.device),
    mode: old.mode !== now.mode,
    owner: old.uid !== now.uid || old.gid !== now.gid,
    xattrs: !isDeepStrictEqual(old.xattrs, now.xattrs),
    // A directory's mtime changes with each added or removed name, so it is left out then.
    mtime: old.mtime !== now.mtime && (now.type !== 'directory' || sameNames),
  };
  return FILE_ASPECTS.filter((aspect) => differs[aspect]);
}

/** Returns the names and types in every folder, as one text. */
function entriesOf(files: SavedFiles): Map<string, string> {
  const found = new Map<string, string>();
  for (const { path, type } of files.values()) {
    const slash = path.lastIndexOf('/');
    if (slash < 0) continue;
    const folder = path.slice(0, slash);
    found.set(folder, `${found.get(folder) ?? ''}${path.slice(slash)} ${type}\0`);
  }
  return found;
}

/** Compares by the bytes of each name in turn, so that a folder precedes its content. */
function comparePaths(a: string, b: string): number {
  const [one, other] = [a.replaceAll('/', '\0'), b.replaceAll('/', '\0')];
  return one < other ? -1 : Number(one > other);
}

/** @param links number of the file's names */
export function describe(entry: TarEntry, links: number, digest: string | null): FileDescription {
  const { type, size, mode, uid, gid, mtime, target, device, xattrs } = entry;
  return {
    type,
    size: type === 'file' ? size : null,
    mode: mode.toString(8).padStart(4, '0'),
    uid,
    gid,
    mtime: iso(mtime),
    links,
    target: target === null ? null : nameOf(target),
    device,
    xattrs: [...xattrs].map(([name, value]) => ({
      name: nameOf(name),
      value: Buffer.from(value, 'latin1').toString('base64'),
    })),
    digest,
  };
}

export function nameOf(latin1: string): GuestName {
  const bytes = Buffer.from(latin1, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') };
}

function iso(nanoseconds: bigint): string {
  const below = ((nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const seconds = Number((nanoseconds - below) / 1_000_000_000n);
  const fraction = below === 0n ? '' : `.${String(below).padStart(9, '0').replace(/0+$/, '')}`;
  return `${new Date(seconds * 1_000).toISOString().slice(0, -5)}${fraction}Z`;
}
