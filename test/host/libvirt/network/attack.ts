import { arp, BROADCAST, dhcp, ethernet, ip, ipv4, RANDOM_MAC, udp } from './frames.ts';

/** Machine on a bridge, as its neighbours see it. */
export interface Neighbour {
  macAddress: string;
  address: string;
}

export interface Place {
  attacker: Neighbour;
  gateway: Neighbour;
  /** Neighbours to impersonate. */
  victims: readonly Neighbour[];
  /** First three octets of each part of the range, as `10.213.16`. */
  range: readonly string[];
}

const EVERYBODY = { source: '0.0.0.0', destination: '255.255.255.255' };
/** Destination MAC that Linux delivers to the port's own interface, past the bridge. */
const PAST_THE_BRIDGE = '01:80:c2:00:00:00';

/** Returns the frames of a guest that impersonates others; one per line, for repeated sending. */
export function attackFrames(place: Place): string[] {
  return [...forgedArp(place), ...forgedDhcp(place), ...foreign(place)];
}

function forgedArp({ attacker, gateway, victims, range }: Place): string[] {
  const from = attacker.macAddress;
  const claims = (sender: string, senderMac = from, to = BROADCAST) =>
    arp({ from: senderMac, to }, { operation: 2, sender, senderMac, target: sender });
  return [
    ...range.map((part) => claims(`${part}.??`)),
    ...range.map((part) => claims(`${part}.??`, from, gateway.macAddress)),
    ...victims.map(({ address }) => claims(address, from, gateway.macAddress)),
    claims(gateway.address),
    claims(`${range[0]}.??`, RANDOM_MAC),
  ];
}

function forgedDhcp({ attacker, gateway, victims }: Place): string[] {
  const { macAddress: from, address } = attacker;
  const server = `3604${ip(gateway.address)}`;
  const asks = (message: Parameters<typeof dhcp>[0], mac = from) =>
    ipv4({ from: mac }, EVERYBODY, udp(68, 67, dhcp({ transaction: '????????', ...message })));
  const gives = (type: number, hardware: string, clientAddress: string) =>
    ipv4(
      { from, to: gateway.macAddress },
      { source: address, destination: gateway.address },
      udp(68, 67, dhcp({ type, hardware, clientAddress, options: server })),
    );
  return [
    asks({ type: 1, hardware: RANDOM_MAC }),
    asks({ type: 1, hardware: RANDOM_MAC }, RANDOM_MAC),
    ...victims.flatMap((victim) => [
      gives(7, victim.macAddress, victim.address),
      gives(4, victim.macAddress, victim.address),
      asks({ type: 1, hardware: victim.macAddress }),
    ]),
    ipv4({ from }, EVERYBODY, udp(67, 68, dhcp({ type: 5, hardware: RANDOM_MAC, head: '02010600' }))),
  ];
}

/** Returns frames with other hardware addresses, IPv6 router advertisements (RFC 4861), and link-local protocols. */
function foreign({ attacker, gateway, victims }: Place): string[] {
  const from = attacker.macAddress;
  const advertisement = `6000000000103afffe80000000000000505400fffe00000aff020000000000000000000000000001${'8600000040000708'.padEnd(32, '0')}`;
  return [
    ethernet({ from: RANDOM_MAC }, 0x0800, '45'),
    ethernet({ from: RANDOM_MAC, to: gateway.macAddress }, 0x88b5, '00'.repeat(46)),
    ethernet({ from, to: '33:33:00:00:00:01' }, 0x86dd, advertisement),
    ipv4({ from, to: PAST_THE_BRIDGE }, { source: attacker.address, destination: gateway.address }, udp(9, TRAP_PORT)),
    ipv4(
      { from, to: gateway.macAddress },
      { source: attacker.address, destination: gateway.address },
      udp(9, TRAP_PORT),
    ),
    ...victims.map(({ macAddress, address }) =>
      ipv4(
        { from: macAddress, to: gateway.macAddress },
        { source: address, destination: gateway.address },
        udp(9, TRAP_PORT),
      ),
    ),
  ];
}

/** Port where the host listens for leaked packets. */
export const TRAP_PORT = 9_797;

/** Returns the frame of a connection to a public server, with changing ports. UDP may omit the checksum. */
export function connectionFrame({ attacker, gateway }: Place, destination: string): string {
  const payload = `${'?'.repeat(8)}00080000`;
  return ipv4(
    { from: attacker.macAddress, to: gateway.macAddress },
    { source: attacker.address, destination },
    payload,
  );
}
