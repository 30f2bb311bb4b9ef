/** A golden VM as a host sees it. */
export interface SourceInfo {
  name: string;
  /** Whether it can be cloned now; if not, `problem` says why. */
  cloneable: boolean;
  problem: string | null;
  cpus: number;
  memoryMib: number;
  /** Virtual size of all its disks, bytes: what one clone can grow to. */
  diskBytes: number;
}

/** The `problem` of a source that runs. */
export const RUNNING_PROBLEM = 'It is running, so its disk is being written.';

/** What a machine has and what is free of it, as measured now. */
export interface Capacity {
  cpus: number;
  memoryTotalMib: number;
  /** Free, buffers and caches (libvirt's nodememstats), not what nodeinfo calls memory size. */
  memoryAvailableMib: number;
  diskTotalBytes: number;
  diskAvailableBytes: number;
}

/** A host as its worker last described it; written only by that worker. */
export interface HostRecord {
  id: string;
  kind: 'libvirt' | 'simulated';
  /** `kvm`, `tcg` or, simulated, `none`: it isolates nothing. */
  isolation: 'kvm' | 'tcg' | 'none';
  capacity: Capacity;
  /** Promised to sandboxes on this host, whether they have grown into it or not. */
  promised: { memoryMib: number; diskBytes: number; sandboxes: number };
  sources: SourceInfo[];
  startedAt: string;
  lastSeenAt: string;
  /** Since when it is given no more sandboxes, because an admin said so; null, or absent: it is given some. ISO 8601. */
  drainedAt?: string | null;
  /**
   * When an admin gave it up, ISO 8601; null, or absent: nobody did. Should it come back, it is given sandboxes again once
   * nothing is left on it that belongs to nobody.
   */
  forgottenAt?: string | null;
}

/** What an admin says of a host; written by nobody else. */
export type HostOrders = Pick<HostRecord, 'drainedAt' | 'forgottenAt'>;

/** A host that has not been heard of for this long is not proposed for new sandboxes. Seconds. */
export const HOST_STALE_SECONDS = 30;

/** Whether it was heard of lately. */
export function isLive(host: HostRecord, now = Date.now()): boolean {
  return now - Date.parse(host.lastSeenAt) <= HOST_STALE_SECONDS * 1_000;
}

/** Whether new sandboxes may be placed on it. */
export function isPlaceable(host: HostRecord, now = Date.now()): boolean {
  return isLive(host, now) && !host.drainedAt && !host.forgottenAt;
}

/** Of these hosts those that have a source, the one with most memory to spare first. */
export function holding(hosts: readonly HostRecord[], source: string): HostRecord[] {
  const having = hosts.filter(({ sources }) => sources.some(({ name }) => name === source));
  return having.sort((a, b) => spareMemory(b) - spareMemory(a));
}

/** Available memory less what is promised. A promise that a guest has grown into counts twice, which only spreads the load. */
function spareMemory({ capacity, promised }: HostRecord): number {
  return capacity.memoryAvailableMib - promised.memoryMib;
}
