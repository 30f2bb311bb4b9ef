/** Bytes that a guest chose: text where they are UTF-8, which may hold newlines and escape codes; else base64. */
export type GuestName = string | { base64: string };

export const FILE_TYPES = ['file', 'directory', 'symlink', 'fifo', 'socket', 'char-device', 'block-device'] as const;
export type FileType = (typeof FILE_TYPES)[number];

/** What of a file can have changed; `target` is a symbolic link's, `device` the numbers of a device file. */
export const FILE_ASPECTS = ['content', 'target', 'device', 'mode', 'owner', 'xattrs', 'mtime'] as const;
export type FileAspect = (typeof FILE_ASPECTS)[number];

/** A file of a guest's disk, but for its name. */
export interface FileDescription {
  type: FileType;
  /** Bytes; null for what is no regular file. */
  size: number | null;
  /** Permissions, set-id and sticky bits: four octal digits. */
  mode: string;
  uid: number;
  gid: number;
  /** ISO 8601 in UTC, to the nanosecond where the file system has it. */
  mtime: string;
  /** How many names the file has. */
  links: number;
  /** Of a symbolic link, else null. */
  target: GuestName | null;
  /** Major and minor number of a device file, else null. */
  device: [number, number] | null;
  /** Extended attributes by name, as getxattr(2) has them; values in base64. */
  xattrs: { name: GuestName; value: string }[];
  /** SHA-256 of a regular file's content, hex; null for other types, and for a file too large to be hashed in time. */
  digest: string | null;
}

/**
 * One difference between two states of a file system; described is the later state, or the last one of what was removed.
 * A path that is in both is one file, if its type is the same. A file is `renamed` when it is certain to be the same
 * one, and its old path is no more; what is below a renamed directory goes with it, without a change of its own.
 */
export interface FileChange extends FileDescription {
  change: 'added' | 'changed' | 'removed' | 'renamed';
  /** From the root, with a leading slash. Parts are not `.` or `..`; beyond that nothing is promised. */
  path: GuestName;
  /** What a renamed file was called, else null. */
  from: GuestName | null;
  /** Of a changed file at least one, of a renamed one what changed besides. */
  what: FileAspect[];
  /** What a changed or renamed file was, without its digest; else null. */
  before: FileDescription | null;
}

/** How many differences there are. */
export interface FileChangeCounts {
  added: number;
  changed: number;
  removed: number;
  renamed: number;
}

/** What a comparison says: any number of changes, and the counts last. Without those it was not finished. */
export type FileChangeRecord = ({ line: 'change' } & FileChange) | ({ line: 'end' } & FileChangeCounts);
