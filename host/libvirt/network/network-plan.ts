import { isIPv4 } from 'node:net';

export interface NetworkPlan {
  name: string;
  /** Bridge interface; at most 15 characters (IFNAMSIZ). */
  bridge: string;
  /** IPv4 network in CIDR notation, prefix 16 to 29. The host takes its first address. */
  subnet: string;
}

export interface NetworkPlans {
  /** For egress `none`: guests reach nothing but DHCP. */
  isolated: NetworkPlan;
  /** For egress `internet`: guests reach public addresses, through NAT. */
  internet: NetworkPlan;
  /** Resolvers announced to guests with egress and reachable by them, even at private addresses. */
  dnsServers: string[];
}

export const DEFAULT_NETWORKS: NetworkPlans = {
  isolated: { name: 'mayfly', bridge: 'mayfly0', subnet: '10.213.0.0/20' },
  internet: { name: 'mayfly-internet', bridge: 'mayfly1', subnet: '10.213.16.0/20' },
  dnsServers: [],
};

interface Subnet {
  gateway: string;
  prefix: number;
  firstLease: string;
  lastLease: string;
}

/** @throws RangeError when it is not the CIDR notation of an IPv4 network with room for guests */
export function subnetOf(cidr: string): Subnet {
  const [base = '', size = ''] = cidr.split('/');
  const prefix = Number(size);
  const start = base.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
  const hosts = 2 ** (32 - prefix);
  if (!isIPv4(base) || !/^\d+$/.test(size) || prefix < 16 || prefix > 29 || start % hosts !== 0) {
    throw new RangeError(`${JSON.stringify(cidr)} is not an IPv4 network like 10.213.0.0/20 (prefix 16 to 29)`);
  }
  const at = (offset: number) =>
    [24, 16, 8, 0].map((shift) => Math.floor((start + offset) / 2 ** shift) % 256).join('.');
  return { gateway: at(1), prefix, firstLease: at(2), lastLease: at(hosts - 2) };
}
