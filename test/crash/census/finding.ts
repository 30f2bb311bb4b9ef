/** Kind of residue on a machine. The census shares no code with destroy, proof or lists, to find what these miss. */
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
  /** Owner by the name it carries; null: unknown. */
  id: string | null;
  where: string;
}

/** Locations of a host's resources. */
export interface CensusPlace {
  /** State folder, absolute. */
  stateDir: string;
  /** URI of its libvirt; null: none. */
  libvirtUri: string | null;
}

/** Id of a sandbox, snapshot or capture. */
const ID = /(?:sbx|snp|cap)-[0-9a-z]{16}/;

/** Returns the first id in a name, a path or a command line. */
export function idIn(text: string): string | null {
  return ID.exec(text)?.[0] ?? null;
}
