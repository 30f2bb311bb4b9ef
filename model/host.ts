import type { z } from 'zod';
import type { hostRef, observer } from './fields.ts';
import type { hostRecord, sourceInfo } from './host-record.ts';

/** A golden VM as a host sees it. */
export type SourceInfo = z.infer<typeof sourceInfo>;

/** The `problem` of a source that runs. */
export const RUNNING_PROBLEM = 'It is running, so its disk is being written.';

/** Which host is meant, so that no other machine of the same id answers for it. */
export type HostRef = z.infer<typeof hostRef>;

export type HostKind = Observer['kind'];

/** What looked at a machine, and at which. */
export type Observer = z.infer<typeof observer>;

export type HostRecord = z.infer<typeof hostRecord>;
export type Capacity = HostRecord['capacity'];

/** What an admin says of a host; written by nobody else. */
export type HostOrders = Pick<HostRecord, 'drainedAt' | 'forgottenAt'>;

/** As it is read from the store. */
export interface KnownHost extends HostRecord {
  /** Milliseconds from `lastSeenAt` to when it was read, both by the store's clock. */
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
