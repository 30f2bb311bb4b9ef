import type { z } from 'zod';
import type { hostRef, observer } from './fields.ts';
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
  /** A digest of what its disks hold; null, or absent: nobody has read them yet, or it is running. */
  content?: string | null;
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

/** Which host is meant, so that no other machine of the same id answers for it. */
export type HostRef = z.infer<typeof hostRef>;

export type HostKind = Observer['kind'];

/** What looked at a machine, and at which. */
export type Observer = z.infer<typeof observer>;

/** A host as its worker last described it; written only by that worker. */
export interface HostRecord {
  id: string;
  installationId: string;
  /** See {@link Observer}. */
  hostUuid: string | null;
  /** Raised by every start of a worker: the one with the highest serves the host, and any other is fenced off. */
  epoch: number;
  kind: HostKind;
  /** `kvm`, `tcg` or, simulated, `none`: it isolates nothing. */
  isolation: 'kvm' | 'tcg' | 'none';
  capacity: Capacity;
  /** Promised to sandboxes on this host, whether they have grown into it or not. */
  promised: { memoryMib: number; diskBytes: number; sandboxes: number };
  sources: SourceInfo[];
  startedAt: string;
  /** By the store's clock. */
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

/** As it is read from the store. */
export interface KnownHost extends HostRecord {
  /** Milliseconds from {@link HostRecord.lastSeenAt} to when it was read, both by the store's clock. */
  silentMs: number;
}

/** A host that has not been heard of for this long is not proposed for new sandboxes. Seconds. */
export const HOST_STALE_SECONDS = 30;

/** Whether it was heard of lately. */
export function isLive({ silentMs }: Pick<KnownHost, 'silentMs'>): boolean {
  return silentMs <= HOST_STALE_SECONDS * 1_000;
}

/** Compares host and installation: another machine with the same host id is another host. */
export function isSameHost(
  one: { hostId: string | null; installationId: string | null },
  other: Pick<Observer, 'hostId' | 'installationId'>,
): boolean {
  return one.hostId === other.hostId && one.installationId === other.installationId;
}

export function hostRefOf({ id, installationId }: Pick<HostRecord, 'id' | 'installationId'>): HostRef {
  return { hostId: id, installationId };
}

export function includesHost(hosts: readonly HostRef[], wanted: HostRef): boolean {
  return hosts.some((host) => isSameHost(host, wanted));
}

/** Hosts that may take a sandbox, the best first. */
export interface HostProposals {
  hosts: HostRef[];
  /** What the source must hold there, where several hosts have it; absent: whatever it holds. */
  content?: string;
}

export function proposalsOf(hosts: readonly HostRecord[]): HostProposals {
  return { hosts: hosts.map(hostRefOf) };
}

/** Whether new sandboxes may be placed on it. */
export function isPlaceable(host: KnownHost): boolean {
  return isLive(host) && !host.drainedAt && !host.forgottenAt;
}

/** Of these hosts those that have a source, the one with most memory to spare first. */
export function holding<H extends HostRecord>(hosts: readonly H[], source: string): H[] {
  const having = hosts.filter(({ sources }) => sources.some(({ name }) => name === source));
  return having.sort((a, b) => spareMemory(b) - spareMemory(a));
}

/** Available memory less what is promised. A promise that a guest has grown into counts twice, which only spreads the load. */
function spareMemory({ capacity, promised }: HostRecord): number {
  return capacity.memoryAvailableMib - promised.memoryMib;
}
