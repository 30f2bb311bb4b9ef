/** Name chosen by a guest: text if its bytes are UTF-8 (may hold newlines and escape codes), else base64. */
export type GuestName = string | { base64: string };

export const FILE_TYPES = ['file', 'directory', 'symlink', 'fifo', 'socket', 'char-device', 'block-device'] as const;
export type FileType = (typeof FILE_TYPES)[number];

/** Changeable properties of a file; `target` of a symbolic link, `device` numbers of a device file. */
export const FILE_ASPECTS = ['content', 'target', 'device', 'mode', 'owner', 'xattrs', 'mtime'] as const;
export type FileAspect = (typeof FILE_ASPECTS)[number];

/** Metadata of a guest's file, without its name. */
export interface FileDescription {
  type: FileType;
  /** Bytes; null unless a regular file. */
  size: number | null;
  /** Permissions, set-id and sticky bits: four octal digits. */
  mode: string;
  uid: number;
  gid: number;
  /** ISO 8601 in UTC, to the nanosecond where the file system stores it. */
  mtime: string;
  /** Number of hard links. */
  links: number;
  /** Null unless a symbolic link. */
  target: GuestName | null;
  /** Major and minor number; null unless a device file. */
  device: [number, number] | null;
  /** Extended attributes by name, as returned by getxattr(2); values in base64. */
  xattrs: { name: GuestName; value: string }[];
  /** SHA-256 of a regular file's content, hex; null for other types and for files too large to hash in time. */
  digest: string | null;
}

/**
 * Difference between two states of a file system; describes the later state, or the last state of a removed file. A
 * path in both states is the same file if its type is equal. `renamed` requires proof of identity and a vanished old
 * path; entries below a renamed directory have no change of their own.
 */
export interface FileChange extends FileDescription {
  change: 'added' | 'changed' | 'removed' | 'renamed';
  /** Absolute. No segment is `.` or `..`; nothing else is guaranteed. */
  path: GuestName;
  /** Previous path of a renamed file, else null. */
  from: GuestName | null;
  /** At least one for a changed file; further changes of a renamed one. */
  what: FileAspect[];
  /** State before a change or rename, without its digest; else null. */
  before: FileDescription | null;
}

/** Number of differences by kind. */
export interface FileChangeCounts {
  added: number;
  changed: number;
  removed: number;
  renamed: number;
}

/** Line of a comparison: any number of changes, then the counts. Without the counts the comparison is incomplete. */
export type FileChangeRecord = ({ line: 'change' } & FileChange) | ({ line: 'end' } & FileChangeCounts);
