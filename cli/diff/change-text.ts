import type { FileChange } from '../../clients/typescript/http/openapi.ts';
import { quotedPath } from '../../model/files/guest-name.ts';
import { size } from '../snapshot/snapshot-text.ts';

type FileState = NonNullable<FileChange['before']>;

export const LETTERS = { added: 'A', changed: 'M', removed: 'D', renamed: 'R' } as const;

const TYPES: Partial<Record<FileChange['type'], string>> = { 'char-device': 'device', 'block-device': 'device' };

/** Formats the path of a change, or both paths of a rename; folders end with a slash. */
export function pathText({ path, from, type }: FileChange): string {
  const slash = type === 'directory' ? '/' : '';
  const now = quotedPath(path) + slash;
  return from === null ? now : `${quotedPath(from)}${slash} → ${now}`;
}

/** Describes a change, without its path. */
export function changeText(change: FileChange): string {
  const { before } = change;
  if (change.change === 'added' || !before) return [kindText(change), sizeText(change)].filter(Boolean).join(', ');
  return aspectTexts(change, before).join(', ');
}

/** Returns the growth of the changed files, bytes. */
export function growthOf({ change, size: now, before }: FileChange): number {
  if (change === 'removed') return -(now ?? 0);
  return (now ?? 0) - (change === 'added' ? 0 : (before?.size ?? 0));
}

/** Formats growth as `+12.0 KiB`; empty for none. */
export function growthText(bytes: number): string {
  return bytes === 0 ? '' : `${bytes > 0 ? '+' : '-'}${size(Math.abs(bytes))}`;
}

/** Recognizes a folder of which only the time changed: its entries have lines of their own. */
export function isOnlyTouched({ change, type, what }: FileChange): boolean {
  return change === 'changed' && type === 'directory' && what.every((aspect) => aspect === 'mtime');
}

function kindText({ type, target, device }: FileChange): string {
  if (type === 'symlink' && target !== null) return `symlink to ${quotedPath(target)}`;
  if (type === 'file' || type === 'directory') return '';
  return `${TYPES[type] ?? type}${device ? ` ${device.join(':')}` : ''}`;
}

function sizeText(change: FileChange): string {
  if (change.size === null) return '';
  return change.change === 'removed' ? growthText(growthOf(change)) : size(change.size);
}

function aspectTexts(change: FileChange, before: FileState): string[] {
  const { what } = change;
  const owner = ({ uid, gid }: Pick<FileState, 'uid' | 'gid'>) => `${uid}:${gid}`;
  const texts = {
    content: () => `content ${growthText(growthOf(change)) || 'of the same size'}`,
    target: () => `target ${formatTarget(before.target)}→${formatTarget(change.target)}`,
    device: () => `device ${before.device?.join(':') ?? ''}→${change.device?.join(':') ?? ''}`,
    mode: () => `mode ${before.mode}→${change.mode}`,
    owner: () => `owner ${owner(before)}→${owner(change)}`,
    xattrs: () => 'attributes',
    mtime: () => 'time',
  };
  // The time changes with nearly every other aspect.
  const shownAspects = what.length > 1 ? what.filter((aspect) => aspect !== 'mtime') : what;
  return shownAspects.map((aspect) => texts[aspect]());
}

function formatTarget(target: FileState['target']): string {
  return target === null ? '' : quotedPath(target);
}
