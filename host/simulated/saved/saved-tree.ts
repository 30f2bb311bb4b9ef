import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { FileSystemProblem } from '../../diff/file-system-problem.ts';
import { type TarEntry, tarEntries } from '../../disk/tar-entries.ts';
import { orAbsent } from '../../os/absent.ts';
import { archiveOf } from './archive.ts';

/** Limit of a tree's names in memory; the same as of a real host's program (diff/request.go). */
const MAX_NAMES = 2 * 1024 * 1024;

/** Files by path: bytes as Latin-1, with a leading slash; the root is ''. */
export type SavedFiles = Map<string, TarEntry>;

/** Immutable tree written by a guest. Paths in it never lead out of it. */
export class SavedTree {
  constructor(readonly root: string) {}

  /** @param within absolute paths, bytes as Latin-1; [] for all. @throws FileSystemProblem */
  async files(within: readonly string[], signal: AbortSignal): Promise<SavedFiles> {
    const names: string[] = [];
    for (const path of outermost(within)) if (await this.find(path)) names.push(`.${path}`);
    const files: SavedFiles = new Map();
    if (names.length === 0) return files;
    const archive = archiveOf(this.root, names, { recursive: true }, signal);
    try {
      for await (const entry of tarEntries(archive)) {
        if (files.size >= MAX_NAMES)
          throw new FileSystemProblem('limit', `there are more than ${MAX_NAMES} files`, null);
        const first = entry.sameAs === null ? undefined : files.get(entry.sameAs);
        files.set(entry.path, first ? { ...first, path: entry.path } : entry);
      }
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof FileSystemProblem) throw cause;
      throw new FileSystemProblem('corrupt', cause instanceof Error ? cause.message : String(cause), null, { cause });
    }
    return files;
  }

  /** Returns the file at a path, if all its parents are folders of the tree; else null. */
  async find(path: string): Promise<Stats | null> {
    const names = partsOf(path);
    if (names.includes('.') || names.includes('..') || path.includes('\0')) return null;
    let found = await lstat(this.root);
    for (let depth = 1; depth <= names.length; depth += 1) {
      if (!found.isDirectory()) return null;
      const next = await orAbsent(lstat(this.at(names.slice(0, depth).join('/'))));
      if (next === null) return null;
      found = next;
    }
    return found;
  }

  /** Returns the host's path, as bytes, of a path of the tree. */
  at(path: string): Buffer {
    return Buffer.concat([Buffer.from(`${this.root}/`), Buffer.from(path, 'latin1')]);
  }
}

function partsOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '');
}

/** Removes paths that lie in others; returns the root alone when none is given. */
function outermost(within: readonly string[]): string[] {
  if (within.length === 0) return [''];
  const paths = [
    ...new Set(
      within.map((path) =>
        partsOf(path)
          .map((name) => `/${name}`)
          .join(''),
      ),
    ),
  ];
  return paths.filter((path) => !paths.some((other) => other !== path && path.startsWith(`${other}/`)));
}
