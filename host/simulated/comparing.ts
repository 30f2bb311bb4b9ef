import { constants } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { FileChangeRecord, GuestName } from '../../model/files/file-change.ts';
import { toGuestName, toGuestNameBytes } from '../../model/files/guest-name.ts';
import { isMayflyFile } from '../../model/files/own-files.ts';
import { type ComparedSnapshots, toDiffError } from '../diff/diff-failure.ts';
import { FileSystemProblem } from '../diff/file-system-problem.ts';
import { withFile } from '../os/atomic-file.ts';
import type { Comparison, SavedFileRequest, SavedPath } from '../snapshots.ts';
import { archiveOf } from './saved/archive.ts';
import { SavedTree } from './saved/saved-tree.ts';
import { type Difference, describe, differences, nameOf } from './saved/tree-differences.ts';
import { END_OF_ARCHIVE, isWhiteout, whiteout } from './saved/whiteout.ts';

/** Timeout, the same as of a real host's program. */
const GRANTED_MS = 120_000;

/**
 * Comparison of the trees in snapshots. @param treeOf folder of a whole one's tree, or MayflyError snapshot_not_found
 */
export class Comparing {
  constructor(private readonly treeOf: (snapshotId: string) => Promise<string>) {}

  async *compare(comparison: Comparison, signal: AbortSignal): AsyncGenerator<FileChangeRecord> {
    const counts = { added: 0, changed: 0, removed: 0, renamed: 0 };
    try {
      const [before, after] = await this.#trees(comparison);
      for (const difference of await this.#differences(before, after, comparison, signal)) {
        counts[difference.change] += 1;
        yield await recordOf(difference, before, after);
      }
      await this.#trees(comparison); // a tree removed during the comparison would count as empty
    } catch (error) {
      throw toDiffError(error, comparison);
    }
    yield { line: 'end', ...counts };
  }

  changesAsTar(comparison: Comparison, signal: AbortSignal): Readable {
    return Readable.from(this.#archive(comparison, signal), { objectMode: false });
  }

  async readFile(
    { snapshotId, path, maxBytes }: SavedFileRequest,
    signal: AbortSignal,
  ): Promise<{ content: Buffer; size: number }> {
    const tree = new SavedTree(await this.treeOf(snapshotId));
    signal.throwIfAborted();
    const name = toGuestNameBytes(path).toString('latin1');
    try {
      return await firstBytes(tree, name, maxBytes);
    } catch (error) {
      throw toDiffError(error, { before: snapshotId, after: snapshotId });
    }
  }

  async namesIn({ snapshotId, path }: SavedPath, signal: AbortSignal): Promise<GuestName[]> {
    const tree = new SavedTree(await this.treeOf(snapshotId));
    signal.throwIfAborted();
    const name = toGuestNameBytes(path).toString('latin1');
    try {
      const found = await tree.find(name);
      if (found === null) throw new FileSystemProblem('not-found', `there is no ${toPrintable(name)}`, null);
      if (!found.isDirectory()) throw new FileSystemProblem('not-a-file', `${toPrintable(name)} is no directory`, null);
      return (await readdir(tree.at(name), { encoding: 'buffer' })).map(toGuestName);
    } catch (error) {
      throw toDiffError(error, { before: snapshotId, after: snapshotId });
    }
  }

  async *#archive(comparison: Comparison, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      const [before, after] = await this.#trees(comparison);
      const names: string[] = [];
      let gone = '/';
      for (const { change, before: old, after: now } of await this.#differences(before, after, comparison, signal)) {
        if (now && isWhiteout(now.path)) throw new FileSystemProblem('unsupported', notArchived(now.path), 'after');
        if (now) names.push(`.${now.path}`);
        if (change !== 'removed' || !old || old.path.startsWith(`${gone}/`)) continue;
        gone = old.path;
        yield whiteout(gone);
      }
      if (names.length === 0) yield END_OF_ARCHIVE;
      else yield* archiveOf(after.root, names, { recursive: false }, signal);
      await this.#trees(comparison);
    } catch (error) {
      throw toDiffError(error, comparison);
    }
  }

  async #differences(
    before: SavedTree,
    after: SavedTree,
    { within }: Comparison,
    signal: AbortSignal,
  ): Promise<Difference[]> {
    const paths = within.map((path) => toGuestNameBytes(path).toString('latin1'));
    const granted = AbortSignal.timeout(GRANTED_MS);
    const either = AbortSignal.any([signal, granted]);
    try {
      const found = differences(await before.files(paths, either), await after.files(paths, either));
      return [...found].filter((one) => !isMayflyFile(one.after?.path ?? one.before?.path ?? ''));
    } catch (error) {
      signal.throwIfAborted();
      if (!granted.aborted) throw error;
      throw new FileSystemProblem('limit', `reading it takes longer than ${GRANTED_MS / 1_000} s`, null);
    }
  }

  async #trees({ before, after }: ComparedSnapshots): Promise<[SavedTree, SavedTree]> {
    return [new SavedTree(await this.treeOf(before)), new SavedTree(await this.treeOf(after))];
  }
}

async function recordOf(difference: Difference, before: SavedTree, after: SavedTree): Promise<FileChangeRecord> {
  const { change, what, before: old, after: now } = difference;
  const entry = now ?? old;
  if (!entry) throw new TypeError('a difference of nothing');
  const linksIn = async (tree: SavedTree) => (await tree.find(entry.path))?.nlink ?? 1;
  const described = describe(entry, await linksIn(now ? after : before), entry.digest);
  const earlier = old && now ? describe(old, await linksIn(before), null) : null;
  return { line: 'change', change, path: nameOf(entry.path || '/'), from: null, what, ...described, before: earlier };
}

async function firstBytes(tree: SavedTree, path: string, maxBytes: number): Promise<{ content: Buffer; size: number }> {
  const found = await tree.find(path);
  if (found === null) throw new FileSystemProblem('not-found', `there is no ${toPrintable(path)}`, null);
  if (!found.isFile()) throw new FileSystemProblem('not-a-file', `${toPrintable(path)} is no regular file`, null);
  const content = Buffer.alloc(Math.min(maxBytes, found.size));
  const { bytesRead } = await withFile(tree.at(path), constants.O_RDONLY | constants.O_NOFOLLOW, (file) =>
    file.read(content, 0, content.length, 0),
  );
  return { content: content.subarray(0, bytesRead), size: found.size };
}

function notArchived(path: string): string {
  return `${toPrintable(path)} cannot be in the archive, where such a name stands for what was removed`;
}

/** Returns a guest's path as printable text. */
function toPrintable(path: string): string {
  return JSON.stringify(path)
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, 200);
}
