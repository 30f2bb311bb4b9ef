/**
 * What the census counts. It is read from the machine itself with means of its own, and shares no code with what destroys,
 * looks or lists: what these are blind to, it shall see.
 */
export type FindingKind =
  | 'process'
  | 'mount'
  | 'workspace'
  | 'credentials'
  | 'reservation'
  | 'snapshot'
  | 'capture'
  | 'file'
  | 'socket'
  | 'lease'
  | 'domain'
  | 'tap'
  | 'firewall';

export interface Finding {
  kind: FindingKind;
  /** Whose it is by the name that it carries; null: it says nothing, and nobody else says that it is theirs. */
  id: string | null;
  where: string;
}

/** Where a host keeps what it has. */
export interface CensusPlace {
  /** Its state folder, absolute. */
  stateDir: string;
  /** Its libvirt's URI; null: it has none. */
  libvirtUri: string | null;
}

/** What every thing of ours is named after: sandboxes, snapshots, captures. */
const ID = /(?:sbx|snp|cap)-[0-9a-z]{16}/;

/** The first id in a name, a path or a command line. */
export function idIn(text: string): string | null {
  return ID.exec(text)?.[0] ?? null;
}
