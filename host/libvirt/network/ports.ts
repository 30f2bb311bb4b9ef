import { macAddress } from '../../../model/ids.ts';
import type { DhcpLease } from './leases.ts';

/** Host end of a machine's cable: an interface that is plugged into a bridge of ours. */
export interface Port {
  /** Name of the interface; at most 15 characters (IFNAMSIZ). */
  name: string;
  /** Only address that its machine may use. */
  macAddress: string;
}

/** Leased address. */
export interface Binding {
  macAddress: string;
  address: string;
}

/** Prefix of our ports' names; no other interface of a host may have it. */
export const PORT_PREFIX = 'mayfly-';

/** Limit of a sandbox's interfaces, more than any known source has. Further ones pass nothing. */
const MAX_NICS = 8;

export function macsOf(sandboxId: string): Set<string> {
  return new Set(Array.from({ length: MAX_NICS }, (_, nic) => macAddress(sandboxId, nic)));
}

/** Returns the port's name for this MAC: known before the port exists, so that the filter comes first. */
export function portName(mac: string): string {
  return `${PORT_PREFIX}${mac.split(':').slice(3).join('')}`;
}

export function portsOf(sandboxId: string): Port[] {
  return [...macsOf(sandboxId)].map((mac) => ({ name: portName(mac), macAddress: mac }));
}

/**
 * Returns the permitted addresses: of two leases for one address, the one that ends last. An expired lease counts while
 * it is listed, since its machine may have been paused.
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
