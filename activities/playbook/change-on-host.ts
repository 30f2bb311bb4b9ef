import { createHash } from 'node:crypto';
import { type TarEntry, tarEntries } from '../../host/disk/tar-entries.ts';
import type { StepContext } from '../../host/step-context.ts';
import type { FileChange, GuestName } from '../../model/files/file-change.ts';
import { toGuestName, toGuestNameBytes } from '../../model/files/guest-name.ts';
import { LIMITS } from '../../model/limits.ts';
import { type Change, type Entry, keyOf } from '../../model/playbook/change/change.ts';
import { isNoise } from '../../model/playbook/change/noise.ts';
import { type ComparedSnapshots, type Differences, differencesOf, type Sides } from './differences.ts';
import { type PackageFiles, packageFiles } from './package-files.ts';
import { systemTexts } from './system-texts.ts';

type ChangeOnHost = Omit<Change, 'sandboxId' | 'base' | 'commands'> & { paths: number; noise: number };

/** Returns the differences between two snapshots, and the data for a playbook of them. */
export async function changeOnHost(
  snapshots: ComparedSnapshots,
  sides: Sides,
  context: StepContext,
): Promise<ChangeOnHost> {
  const { signal } = context;
  const differences = await differencesOf(snapshots, sides, context);
  context.alive('reading what its packages say');
  const before = await systemTexts(snapshots, sides.before, signal);
  const after = await systemTexts(snapshots, sides.after, signal);
  const files = await packageFiles(snapshots, sides, { before, after }, signal);
  context.alive('reading its files');
  const { entries, packaged } = await entriesOf(snapshots, sides, differences, files, context);
  const changed = [...differences.changes.keys()];
  const listed = new Set(changed.filter((key) => files.brought.has(key) || files.taken.has(key)));
  return {
    entries,
    gone: removedPaths(differences, files),
    before,
    after,
    listed,
    packaged,
    foreign: files.foreign,
    paths: differences.changes.size,
    noise: differences.noise,
  };
}

/** Returns removed paths, a folder in place of its content. Paths removed with their package are excluded. */
function removedPaths({ changes }: Differences, { taken }: PackageFiles): GuestName[] {
  const gone: GuestName[] = [];
  let folder: string | null = null;
  for (const change of [...changes.values()].flat()) {
    const name = change.change === 'removed' ? change.path : change.from;
    if (name === null || taken.has(keyOf(name))) continue;
    const bytes = toGuestNameBytes(name).toString('latin1');
    if (folder !== null && bytes.startsWith(`${folder}/`)) continue;
    folder = bytes;
    gone.push(name);
  }
  return gone;
}

/** Reads the entries from one archive of all differences, holding at most one file beside those it keeps. */
async function entriesOf(
  snapshots: ComparedSnapshots,
  sides: Sides,
  { changes, ignored }: Differences,
  { brought }: PackageFiles,
  context: StepContext,
): Promise<{ entries: Entry[]; packaged: Set<string> }> {
  const entries: Entry[] = [];
  const packaged = new Set<string>();
  let left = LIMITS.playbook.bundleBytes;
  let content: Buffer[] = [];
  const isWanted = (path: string, key: string) =>
    key !== '' && !ignored.has(key) && !isNoise(path) && !isWhiteout(path);
  const sinkOf = (entry: TarEntry) => {
    content = [];
    const key = keyOf(nameOf(entry.path));
    const isRead =
      isWanted(entry.path, key) && entry.type === 'file' && entry.size <= LIMITS.playbook.fileBytes && left > 0;
    return isRead ? (piece: Buffer) => void content.push(Buffer.from(piece)) : null;
  };
  for await (const found of tarEntries(snapshots.changesAsTar({ ...sides, within: [] }, context.signal), sinkOf)) {
    const path = nameOf(found.path);
    const key = keyOf(path);
    if (!isWanted(found.path, key)) continue;
    const change = changes.get(key)?.find((one) => one.change !== 'removed') ?? null;
    const entry = entryOf(found, path, change, Buffer.concat(content));
    const md5 = brought.get(key);
    if (md5 !== undefined && isAsPackaged(entry, md5, content)) packaged.add(key);
    else left -= entry.bytes?.length ?? 0;
    entries.push(packaged.has(key) ? { ...entry, bytes: null } : withinBounds(entry, left));
    if (entries.length % 500 === 0) context.alive(`${entries.length} files`);
  }
  return { entries, packaged };
}

function isWhiteout(path: string): boolean {
  return path.slice(path.lastIndexOf('/') + 1).startsWith('.wh.');
}

function nameOf(latin1: string): GuestName {
  return toGuestName(Buffer.from(latin1, 'latin1'));
}

function isAsPackaged({ type, size }: Entry, md5: string | null, content: readonly Buffer[]): boolean {
  if (type !== 'file' || md5 === null) return true;
  if (size > LIMITS.playbook.fileBytes) return true; // too large for the playbook; the check compares it
  const hash = createHash('md5');
  for (const piece of content) hash.update(piece);
  return hash.digest('hex') === md5;
}

function withinBounds(entry: Entry, left: number): Entry {
  if (left >= 0 || entry.bytes === null) return entry;
  const why = `all files together are more than ${LIMITS.playbook.bundleBytes} bytes`;
  return { ...entry, bytes: null, why };
}

function entryOf(found: TarEntry, path: GuestName, change: FileChange | null, content: Buffer): Entry {
  const { type, mode, uid, gid, size, target, sameAs, xattrs } = found;
  const isKept =
    type === 'file' &&
    change?.change === 'changed' &&
    change.before?.type === 'file' &&
    !change.what.includes('content');
  const isTooLarge = size > LIMITS.playbook.fileBytes;
  return {
    path,
    type,
    mode,
    uid,
    gid,
    size,
    target: target === null ? null : nameOf(target),
    sameAs: sameAs === null ? null : nameOf(sameAs),
    xattrs: [...xattrs.keys()].filter((name) => !name.startsWith('security.selinux')),
    isKept,
    bytes: type === 'file' && sameAs === null && !isKept && !isTooLarge ? content : null,
    why: isTooLarge ? `it is ${size} bytes long, more than ${LIMITS.playbook.fileBytes}` : null,
  };
}
