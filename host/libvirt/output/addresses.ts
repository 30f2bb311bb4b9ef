import { isIPv4 } from 'node:net';
import { tableRows } from './tables.ts';

const MAC = /(?<![0-9a-f:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![0-9a-f:])/i;

/** True for an IPv4 address of a reachable guest: not loopback, link-local, multicast or unspecified. */
function usable(address: string): boolean {
  return isIPv4(address) && !/^(?:0|127|169\.254|22[4-9]|23\d|24\d|25[0-5])\./.test(address);
}

function withoutPrefix(address: string): string {
  return address.replace(/\/\d+$/, '');
}

interface InterfaceAddress {
  ip: string;
  mac: string;
}

/**
 * Parses `virsh domifaddr`: the first usable IPv4 address and the MAC of its interface. An interface's further
 * addresses stand in rows of their own, with `-` for its name and MAC.
 */
export function interfaceAddress(text: string): InterfaceAddress | null {
  let mac: string | null = null;
  for (const row of tableRows(text)) {
    const columns = row.trim().split(/\s+/);
    const protocol = columns.findIndex((column) => column === 'ipv4' || column === 'ipv6' || column === 'N/A');
    const macColumn = columns[protocol < 0 ? 1 : protocol - 1] ?? '-';
    if (macColumn !== '-') mac = MAC.test(macColumn) ? macColumn.toLowerCase() : null;
    const ip = withoutPrefix(columns[protocol + 1] ?? '');
    if (columns[protocol] === 'ipv4' && mac && usable(ip)) return { ip, mac };
  }
  return null;
}

/** Parses `virsh domiflist`: the MAC of every interface, also of a domain that is shut off (its name is then `-`). */
export function interfaceMacs(text: string): string[] {
  return tableRows(text).flatMap((row) => {
    const last = row.trim().split(/\s+/).at(-1) ?? '';
    return MAC.test(last) ? [last.toLowerCase()] : [];
  });
}

interface ListedLease {
  mac: string;
  ip: string;
  /** Local time, as virsh prints it; null for a lease without end. */
  expiry: string | null;
}

const LEASE = /^\s*(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s+((?:[0-9a-f]{2}:){5}[0-9a-f]{2})\s+(\S+)\s+(\S+)/i;

/** Parses `virsh net-dhcp-leases`: its IPv4 leases. virsh prints an endless lease as the first moment of Unix time. */
function listedLeases(text: string): ListedLease[] {
  return tableRows(text).flatMap((row) => {
    const [, expiry = '', mac = '', protocol = '', address = ''] = LEASE.exec(row) ?? [];
    const ip = withoutPrefix(address);
    if (protocol !== 'ipv4' || !usable(ip)) return [];
    return [{ mac: mac.toLowerCase(), ip, expiry: /^(?:1970-01-01|1969-12-31)/.test(expiry) ? null : expiry }];
  });
}

/** Returns the address of the lease of `mac` that ends last: renewals under other client ids leave several. */
export function leasedAddress(text: string, mac: string): string | null {
  const mine = listedLeases(text).filter((lease) => lease.mac === mac.toLowerCase());
  const end = (lease: ListedLease) => lease.expiry ?? '9999';
  return mine.reduce<ListedLease | null>((a, b) => (a && end(a) > end(b) ? a : b), null)?.ip ?? null;
}

/** Neighbour states from best to worst; a FAILED or INCOMPLETE neighbour has not answered, so it is ignored. */
const NEIGHBOUR_STATES = ['PERMANENT', 'NOARP', 'REACHABLE', 'DELAY', 'PROBE', 'STALE'];

/** Parses `ip neigh`: returns the IPv4 address last seen at `mac`, the freshest when there are several. */
export function neighbourAddress(text: string, mac: string): string | null {
  const found = text.split(/\r?\n/).flatMap((line) => {
    const words = line.trim().split(/\s+/);
    const at = words.indexOf('lladdr');
    const rank = NEIGHBOUR_STATES.indexOf((words.at(-1) ?? '').toUpperCase());
    const ip = words[0] ?? '';
    if (at < 0 || words[at + 1]?.toLowerCase() !== mac.toLowerCase() || rank < 0 || !usable(ip)) return [];
    return [{ ip, rank }];
  });
  return found.sort((a, b) => a.rank - b.rank)[0]?.ip ?? null;
}
