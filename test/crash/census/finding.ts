/** Kind of residue, read from the machine itself: shares no code with destroy, proof or lists, so it sees what these miss. */
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
