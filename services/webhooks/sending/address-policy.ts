import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { EMBEDDING, GLOBAL_IPV6, METADATA, SPECIAL_IPV4, SPECIAL_IPV6 } from './special-addresses.ts';

type Family = 'ipv4' | 'ipv6';

const GLOBAL = listOf('ipv6', [GLOBAL_IPV6]);
const CIDR = /^([0-9A-Fa-f:.]+)\/(\d{1,3})$/;
const BITS: Record<Family, number> = { ipv4: 32, ipv6: 128 };

/**
 * Which addresses may be connected to: those that are reached at large, and those that the installation allows. Each is judged
 * as it is connected to, never by a name.
 */
export class AddressPolicy {
  /** Of one family each: a list of both has IPv4 rules hold for mapped addresses. */
  readonly #allowed: Record<Family, BlockList> = { ipv4: new BlockList(), ipv6: new BlockList() };

  /** @param cidrs what the installation allows besides @throws RangeError when one is none */
  constructor(cidrs: readonly string[] = []) {
    for (const cidr of cidrs) {
      const problem = cidrProblem(cidr);
      if (problem !== null) throw new RangeError(`${cidr} ${problem}`);
      const [network = '', prefix = ''] = cidr.split('/');
      const family = familyOf(network);
      this.#allowed[family].addSubnet(network, Number(prefix), family);
    }
  }

  /** Why an address is not connected to, to be said after it; null: it may be. @param address as `net.isIP` knows one */
  refusalOf(address: string): string | null {
    if (isIP(address) === 0 || address.includes('%')) return 'is no address that can be judged';
    const family = familyOf(address);
    const behind = family === 'ipv6' ? embeddedIn(address) : [];
    if ([address, ...behind].some(isMetadata)) return 'tells machines of a cloud their secrets';
    if (this.#allowed[family].check(address, family)) return null;
    const what = specialOf(address, family);
    return what === null ? null : `is ${what}, and the installation does not allow it`;
  }
}

/** Why a text is no CIDR, to be said after it; null: it is one. */
export function cidrProblem(text: string): string | null {
  const [, network = '', prefix = ''] = CIDR.exec(text) ?? [];
  if (isIP(network) === 0) return 'is no CIDR, such as 10.0.0.0/8';
  return Number(prefix) <= BITS[familyOf(network)] ? null : 'has a longer prefix than an address has bits';
}

function specialOf(address: string, family: Family): string | null {
  if (family === 'ipv4')
    return SPECIAL_IPV4.find((subnet) => listOf('ipv4', [subnet]).check(address, 'ipv4'))?.[2] ?? null;
  if (!GLOBAL.check(address, 'ipv6')) return 'not of the global part of IPv6';
  return SPECIAL_IPV6.find((subnet) => listOf('ipv6', [subnet]).check(address, 'ipv6'))?.[2] ?? null;
}

function isMetadata(address: string): boolean {
  return METADATA.some(
    (one) =>
      familyOf(one) === familyOf(address) &&
      listOf(familyOf(one), [[one, BITS[familyOf(one)]]]).check(address, familyOf(one)),
  );
}

/** IPv4 addresses that an IPv6 one leads to somewhere. */
function embeddedIn(address: string): string[] {
  const bits = bitsOf(address);
  return EMBEDDING.flatMap(([network, prefix, at]) => {
    if (bits >> BigInt(128 - prefix) !== bitsOf(network) >> BigInt(128 - prefix)) return [];
    const value = Number((bits >> BigInt(96 - at)) & 0xffff_ffffn);
    return [[24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.')];
  });
}

function bitsOf(address: string): bigint {
  const [head = '', tail] = inHex(address).split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const [first, last] = [groups(head), groups(tail)];
  const zeros = tail === undefined ? [] : Array<string>(8 - first.length - last.length).fill('0');
  return [...first, ...zeros, ...last].reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}

/** With the IPv4 address at its end, where there is one, as two groups. */
function inHex(address: string): string {
  const at = address.lastIndexOf(':') + 1;
  const last = address.slice(at);
  if (!isIPv4(last)) return address;
  const [a = 0, b = 0, c = 0, d = 0] = last.split('.').map(Number);
  return `${address.slice(0, at)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

function listOf(
  family: Family,
  subnets: readonly (readonly [network: string, prefix: number, what?: string])[],
): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of subnets) list.addSubnet(network, prefix, family);
  return list;
}

function familyOf(address: string): Family {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
