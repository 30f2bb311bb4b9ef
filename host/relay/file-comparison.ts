import { isUtf8 } from 'node:buffer';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { GuestName } from '../../model/files/file-change.ts';
import type { FileComparison } from '../../model/files/file-comparison.ts';
import { quotedPath, toGuestName, toGuestNameBytes } from '../../model/files/guest-name.ts';
import { LIMITS } from '../../model/limits.ts';
import { unifiedDiff } from '../diff/unified-diff.ts';
import { nullIf } from '../os/absent.ts';
import type { HostSnapshots } from '../snapshots.ts';

type SavedFile = Awaited<ReturnType<HostSnapshots['readFile']>>;

const ABSENT = '/dev/null';

/**
 * Compares one file in two snapshots. Missing in both: not found; missing in one: added or removed.
 * @throws MayflyError file_not_found, file_conflict, and the errors of {@link HostSnapshots.readFile}
 */
export async function compareFile(
  snapshots: Pick<HostSnapshots, 'readFile'>,
  { before, after, path }: { before: string; after: string; path: GuestName },
  signal: AbortSignal,
): Promise<FileComparison> {
  const maxBytes = LIMITS.diff.fileBytes;
  const isAbsent = (error: unknown) => isMayflyError(error, 'file_not_found');
  const old = await nullIf(snapshots.readFile({ snapshotId: before, path, maxBytes }, signal), isAbsent);
  const now = await nullIf(snapshots.readFile({ snapshotId: after, path, maxBytes }, signal), isAbsent);
  if (!old && !now) {
    throw new MayflyError('file_not_found', `There is no ${JSON.stringify(path)} in ${before}, nor in ${after}.`);
  }
  const kind = kindOf(old, now);
  return {
    path,
    before: old && { size: old.size },
    after: now && { size: now.size },
    kind,
    diff: kind === 'text' ? textDiff(path, old, now) : null,
  };
}

function kindOf(old: SavedFile | null, now: SavedFile | null): FileComparison['kind'] {
  const sides = [old, now].filter((side) => side !== null);
  if (sides.some(({ content, size }) => size > content.length)) return 'too-large';
  if (old && now && old.content.equals(now.content)) return 'same';
  return sides.every(({ content }) => isUtf8(content) && !content.includes(0)) ? 'text' : 'binary';
}

function textDiff(path: GuestName, old: SavedFile | null, now: SavedFile | null): string {
  const text = (side: SavedFile | null) => side?.content.toString('utf8') ?? '';
  return unifiedDiff(text(old), text(now), {
    before: old ? labelOf('a', path) : ABSENT,
    after: now ? labelOf('b', path) : ABSENT,
  });
}

/** Returns the label of a side, as in `git diff`: `a/etc/hosts`. */
function labelOf(side: string, path: GuestName): string {
  return quotedPath(toGuestName(Buffer.concat([Buffer.from(side), toGuestNameBytes(path)])));
}
