import type { FileType, GuestName } from '../../files/file-change.ts';

/** File of the later state that was added or changed. */
export interface Entry {
  /** Absolute. */
  path: GuestName;
  type: FileType;
  /** Permissions, set-id and sticky bits. */
  mode: number;
  uid: number;
  gid: number;
  /** Length of a regular file. */
  size: number;
  /** Target of a symbolic link. */
  target: GuestName | null;
  /** Earlier path of the same file (hard link). */
  sameAs: GuestName | null;
  /** Names of extended attributes. */
  xattrs: string[];
  /** True when only mode or owner changed. */
  isKept: boolean;
  /** Content; null unless a regular file with new content that could be read; see `why`. */
  bytes: Uint8Array | null;
  why: string | null;
}

/** Raw text of a system's own files. */
export interface SystemFiles {
  /** /var/lib/dpkg/status */
  status: string;
  /** /var/lib/apt/extended_states */
  extended: string;
  passwd: string;
  group: string;
  shadow: string;
}

/** Input of a playbook. */
export interface Change {
  sandboxId: string;
  /** Base of both states, for display. */
  base: string;
  entries: Entry[];
  /** Removed paths; a folder includes everything below it. */
  gone: GuestName[];
  before: SystemFiles;
  after: SystemFiles;
  /** Changed paths listed by packages that were installed, changed or removed. */
  listed: ReadonlySet<string>;
  /** Subset of `listed` that is identical to the package's file. */
  packaged: ReadonlySet<string>;
  /** Names of packages that no repository lists. */
  foreign: ReadonlySet<string>;
  /** Commands that ran, oldest first, redacted. */
  commands: readonly string[];
}

/** Change that the playbook does not fully apply. */
export interface Gap {
  path: GuestName;
  why: string;
}

export function keyOf(name: GuestName): string {
  return typeof name === 'string' ? name : `base64:${name.base64}`;
}
