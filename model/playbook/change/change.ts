import type { FileType, GuestName } from '../../files/file-change.ts';

/** A file of the later state that was added or changed. */
export interface Entry {
  /** Absolute. */
  path: GuestName;
  type: FileType;
  /** Permissions, set-id and sticky bits. */
  mode: number;
  uid: number;
  gid: number;
  /** Bytes of a regular file. */
  size: number;
  /** Of a symbolic link. */
  target: GuestName | null;
  /** Another name of the same file, which stands before it. */
  sameAs: GuestName | null;
  /** Names of extended attributes. */
  xattrs: string[];
  /** Whether its content was there before, and only mode or owner differ. */
  isKept: boolean;
  /** Its content; null of what is no regular file, is kept, or was not read, for `why`. */
  bytes: Uint8Array | null;
  why: string | null;
}

/** What a system says of itself in files, as they are. */
export interface SystemTexts {
  /** /var/lib/dpkg/status */
  status: string;
  /** /var/lib/apt/extended_states */
  extended: string;
  passwd: string;
  group: string;
  shadow: string;
}

/** All that a playbook is written of. */
export interface Change {
  sandboxId: string;
  /** What both states come from, for people. */
  base: string;
  entries: Entry[];
  /** What is no more; a folder stands for all that was in it. */
  gone: GuestName[];
  before: SystemTexts;
  after: SystemTexts;
  /** Changed paths that are in the lists of packages which were installed, changed or removed. */
  listed: ReadonlySet<string>;
  /** Those of them that are as the package brings them. */
  packaged: ReadonlySet<string>;
  /** Packages of which no list of a repository tells: by name. */
  foreign: ReadonlySet<string>;
  /** The commands that ran, oldest first, without secrets. */
  commands: readonly string[];
}

/** Something that the playbook does not bring about, or not all of it. */
export interface Left {
  path: GuestName;
  why: string;
}

export function keyOf(name: GuestName): string {
  return typeof name === 'string' ? name : `base64:${name.base64}`;
}
