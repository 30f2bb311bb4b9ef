import { macAddress } from '../../../model/ids.ts';
import type { DhcpLease } from './leases.ts';

/** A machine's end of its cable: an interface of the host that is plugged into a bridge of ours. */
export interface Port {
  /** Of the interface; at most 15 characters (IFNAMSIZ). */
  name: string;
  /** The only one that its machine may use. */
  macAddress: string;
}

/** An address as it is leased. */
export interface Binding {
  macAddress: string;
  address: string;
}

/** What the names of our ports begin with; no other interface of a host may have such a name. */
export const PORT_PREFIX = 'mayfly-';

/** Interfaces of a sandbox that are looked after: more than any source has that was seen. One more passes nothing. */
const MAX_NICS = 8;

export function macsOf(sandboxId: string): Set<string> {
  return new Set(Array.from({ length: MAX_NICS }, (_, nic) => macAddress(sandboxId, nic)));
}

/** The port of an interface with this MAC: known before there is one, so that the filter is there first. */
export function portName(mac: string): string {
  return `${PORT_PREFIX}${mac.split(':').slice(3).join('')}`;
}

export function portsOf(sandboxId: string): Port[] {
  return [...macsOf(sandboxId)].map((mac) => ({ name: portName(mac), macAddress: mac }));
}

/**
 * Who may use which address: of two machines to which one was leased, the one whose lease ends last. One that has run
 * out still counts while it is listed, since its machine may have been paused.
 */
export function boundAddresses(leases: readonly DhcpLease[]): Binding[] {
  const end = ({ expiresAt }: DhcpLease) => expiresAt ?? Number.POSITIVE_INFINITY;
  const last = new Map<string, DhcpLease>();
  for (const lease of leases) {
    const other = last.get(lease.address);
    if (!other || end(other) < end(lease)) last.set(lease.address, lease);
  }
  return [...last.values()].map(({ macAddress: mac, address }) => ({ macAddress: mac, address }));
}
