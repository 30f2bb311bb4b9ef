type Subnet = readonly [network: string, prefix: number, what: string];

/** IANA IPv4 Special-Purpose Address Registry, and multicast. */
export const SPECIAL_IPV4: readonly Subnet[] = [
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

/** What is reached at large (RFC 4291 §2.4). All else is refused. */
export const GLOBAL_IPV6: Subnet = ['2000::', 3, 'global'];
/** Of that, what is not (IANA IPv6 Special-Purpose Address Registry). */
export const SPECIAL_IPV6: readonly Subnet[] = [
  ['2001::', 23, 'of the IETF, Teredo among them'],
  ['2001:db8::', 32, 'for documentation'],
  ['2002::', 16, '6to4'],
  ['2620:4f:8000::', 48, 'of AS112'],
  ['3fff::', 20, 'for documentation'],
];

/** Where clouds tell a machine its secrets: whatever is allowed, never these. */
export const METADATA: readonly string[] = [
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

/** Prefixes behind which an IPv4 address stands, and at which bit: mapped, translated (SIIT, NAT64), compatible, 6to4. */
export const EMBEDDING: readonly (readonly [network: string, prefix: number, at: number])[] = [
  ['::ffff:0:0', 96, 96],
  ['::ffff:0:0:0', 96, 96],
  ['64:ff9b::', 96, 96],
  ['64:ff9b:1::', 48, 96],
  ['::', 96, 96],
  ['2002::', 16, 16],
];
