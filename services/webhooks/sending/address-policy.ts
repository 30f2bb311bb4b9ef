import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

type Subnet = readonly [network: string, prefix: number, what: string];

/** IANA IPv4 Special-Purpose Address Registry, and multicast. */
const SPECIAL_IPV4: readonly Subnet[] = [
  ['0.0.0.0', 8, 'this network'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'shared by customers of a carrier'],
  ['127.0.0.0', 8, 'loopback'],
  ['169.254.0.0', 16, 'link-local'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'of the IETF'],
  ['192.0.2.0', 24, 'for documentation'],
  ['192.31.196.0', 24, 'of AS112'],
  ['192.52.193.0', 24, 'of AMT'],
  ['192.88.99.0', 24, 'a relay of 6to4'],
  ['192.168.0.0', 16, 'private'],
  ['192.175.48.0', 24, 'of AS112'],
  ['198.18.0.0', 15, 'for benchmarks'],
  ['198.51.100.0', 24, 'for documentation'],
  ['203.0.113.0', 24, 'for documentation'],
  ['224.0.0.0', 4, 'multicast'],
  ['240.0.0.0', 4, 'reserved'],
];

/** Global unicast (RFC 4291 §2.4). Every other address is refused. */
const GLOBAL_IPV6: Subnet = ['2000::', 3, 'global'];
/** Exceptions in the global range (IANA IPv6 Special-Purpose Address Registry). */
const SPECIAL_IPV6: readonly Subnet[] = [
  ['2001::', 23, 'of the IETF, Teredo among them'],
  ['2001:db8::', 32, 'for documentation'],
  ['2002::', 16, '6to4'],
  ['2620:4f:8000::', 48, 'of AS112'],
  ['3fff::', 20, 'for documentation'],
];

/** Metadata services of clouds, which hold secrets: never allowed. */
const METADATA: readonly string[] = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
];

/** Prefixes of embedded IPv4 addresses, with their bit offset: mapped, translated (SIIT, NAT64), compatible, 6to4. */
const EMBEDDING: readonly (readonly [network: string, prefix: number, at: number])[] = [
  ['::ffff:0:0', 96, 96],
  ['::ffff:0:0:0', 96, 96],
  ['64:ff9b::', 96, 96],
  ['64:ff9b:1::', 48, 96],
  ['::', 96, 96],
  ['2002::', 16, 16],
];

type Family = 'ipv4' | 'ipv6';

const GLOBAL = listOf('ipv6', [GLOBAL_IPV6]);
const CIDR = /^([0-9A-Fa-f:.]+)\/(\d{1,3})$/;
const BITS: Record<Family, number> = { ipv4: 32, ipv6: 128 };

/**
 * Policy of addresses to connect to: global ones, and those that the installation allows. It judges the address of the
 * connection, never a name.
 */
export class AddressPolicy {
  /** Lists per family: a common list would apply IPv4 rules to mapped addresses. */
  readonly #allowed: Record<Family, BlockList> = { ipv4: new BlockList(), ipv6: new BlockList() };

  /** @param cidrs further allowed networks @throws RangeError for an invalid one */
  constructor(cidrs: readonly string[] = []) {
    for (const cidr of cidrs) {
      const problem = cidrProblem(cidr);
      if (problem !== null) throw new RangeError(`${cidr} ${problem}`);
      const [network = '', prefix = ''] = cidr.split('/');
      const family = familyOf(network);
      this.#allowed[family].addSubnet(network, Number(prefix), family);
    }
  }

  /** Returns why an address is refused, as a predicate; null when it is allowed. @param address valid for `net.isIP` */
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

/** Returns the defect of a CIDR, as a predicate; null when it is valid. */
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

/** Returns the IPv4 addresses that an IPv6 address embeds. */
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

/** Returns an address with a trailing IPv4 part as two hexadecimal groups. */
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
