import type { z } from 'zod';
import type { hostRef, observer } from './fields.ts';
import type { hostRecord, sourceInfo } from './host-record.ts';

/** Golden VM as a host reports it. */
export type SourceInfo = z.infer<typeof sourceInfo>;

/** The `problem` of a running source. */
export const RUNNING_PROBLEM = 'It is running, so its disk is being written.';

/** Host id with its installation: another machine with the same host id never matches. */
export type HostRef = z.infer<typeof hostRef>;

export type HostKind = Observer['kind'];

/** Hypervisor that made an observation, and the machine it ran on. */
export type Observer = z.infer<typeof observer>;

export type HostRecord = z.infer<typeof hostRecord>;
export type Capacity = HostRecord['capacity'];

/** Fields of a host that only an admin sets. */
export type HostOrders = Pick<HostRecord, 'drainedAt' | 'forgottenAt'>;

/** Host as read from the store. */
export interface StoredHost extends HostRecord {
  /** Milliseconds from `lastSeenAt` to when it was read, both by the store's clock. */
  silentMs: number;
}

/** Silence after which a host is not proposed for new sandboxes, seconds. */
export const HOST_STALE_SECONDS = 30;

/** True when the host reported within {@link HOST_STALE_SECONDS}. */
export function isLive({ silentMs }: Pick<StoredHost, 'silentMs'>): boolean {
  return silentMs <= HOST_STALE_SECONDS * 1_000;
}

/** Compares host and installation: another machine with the same host id is another host. */
export function isSameHost(
  one: { hostId: string | null; installationId: string | null },
  other: Pick<Observer, 'hostId' | 'installationId'>,
): boolean {
  return one.hostId === other.hostId && one.installationId === other.installationId;
}

export function toHostRef({ id, installationId }: Pick<HostRecord, 'id' | 'installationId'>): HostRef {
  return { hostId: id, installationId };
}

export function includesHost(hosts: readonly HostRef[], wanted: HostRef): boolean {
  return hosts.some((host) => isSameHost(host, wanted));
}

/** Candidate hosts of a sandbox, best first. */
export interface CandidateHosts {
  hosts: HostRef[];
  /** Required source content where several hosts have the source. Absent: any content. */
  content?: string;
}

export function toCandidateHosts(hosts: readonly HostRecord[]): CandidateHosts {
  return { hosts: hosts.map(toHostRef) };
}

/** True when new sandboxes may be placed on the host. */
export function isPlaceable(host: StoredHost): boolean {
  return isLive(host) && !host.drainedAt && !host.forgottenAt;
}

/** Returns the hosts that have a source, most spare memory first. */
export function selectHostsWithSource<H extends HostRecord>(hosts: readonly H[], source: string): H[] {
  const having = hosts.filter(({ sources }) => sources.some(({ name }) => name === source));
  return having.sort((a, b) => spareMemory(b) - spareMemory(a));
}

/**
 * Returns available memory minus promised memory, MiB. Memory that a guest already uses counts twice, which only
 * spreads load.
 */
function spareMemory({ capacity, promised }: HostRecord): number {
  return capacity.memoryAvailableMib - promised.memoryMib;
}
