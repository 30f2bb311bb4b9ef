import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadFirewall, removeFirewall } from '../../../../host/libvirt/network/firewall.ts';
import { setBridge } from '../../../../host/libvirt/network/network.ts';
import type { NetworkPlans } from '../../../../host/libvirt/network/network-plan.ts';
import { elementsOf } from '../../../../host/libvirt/network/port-rules.ts';
import { portName } from '../../../../host/libvirt/network/ports.ts';
import { exec } from '../../../../host/os/exec.ts';
import { GUEST_LIMITS } from '../../../../model/limits.ts';
import { useFolder } from '../../../support/use-folder.ts';
import { arp, dhcp, type Ends, ethernet, ipv4, type Packet, RANDOM_MAC, udp } from './frames.ts';
import { buildForge, WireEnd } from './wire.ts';

const PLANS: NetworkPlans = {
  isolated: { name: 'wires', bridge: 'mfwires0', subnet: '10.98.0.0/24' },
  internet: { name: 'wires-internet', bridge: 'mfwires1', subnet: '10.98.1.0/24' },
  dnsServers: [],
};
const BRIDGE = PLANS.isolated.bridge;
const GATEWAY = '10.98.0.1';
/** Attacker, its neighbour, and a port without an entry. */
const [US, THEM, STRAY] = ['52:54:00:00:00:0a', '52:54:00:00:00:0b', '52:54:00:00:00:0c'];
const [OURS, THEIRS, FREE] = ['10.98.0.10', '10.98.0.11', '10.98.0.77'];
const PORTS = [
  { name: portName(US), macAddress: US },
  { name: portName(THEM), macAddress: THEM },
];
const BINDINGS = [
  { macAddress: US, address: OURS },
  { macAddress: THEM, address: THEIRS },
];

const folder = useFolder();
/** Frames to the host on either bridge, the machines' ends, and the host's DHCP socket. */
let host: WireEnd;
let us: WireEnd;
let them: WireEnd;
let stray: WireEnd;
let server: Socket;
let gatewayMac: string;

beforeAll(async () => {
  if (!process.env['MAYFLY_TEST_NETNS']) throw new Error('Run this with npm test, which makes a network namespace.');
  const forge = await buildForge(folder);
  await exec('ip', ['link', 'add', BRIDGE, 'type', 'bridge', 'mcast_snooping', '0']);
  await exec('sysctl', ['-q', '-w', `net.ipv6.conf.${BRIDGE}.disable_ipv6=1`]);
  await exec('ip', ['address', 'add', `${GATEWAY}/24`, 'dev', BRIDGE]);
  await exec('ip', ['link', 'set', BRIDGE, 'up']);
  await setBridge(BRIDGE);
  for (const [end, port] of [
    ['us', portName(US)],
    ['them', portName(THEM)],
    ['stray', 'mfwirestray'],
  ] as const) {
    await exec('ip', ['link', 'add', port, 'type', 'veth', 'peer', 'name', `mfwire-${end}`]);
    for (const name of [port, `mfwire-${end}`]) {
      await exec('sysctl', ['-q', '-w', `net.ipv6.conf.${name}.disable_ipv6=1`]);
      await exec('ip', ['link', 'set', name, 'arp', 'off', 'up']);
    }
    await exec('ip', ['link', 'set', port, 'master', BRIDGE]);
  }
  [host, us, them, stray] = await Promise.all(
    [BRIDGE, 'mfwire-us', 'mfwire-them', 'mfwire-stray'].map((name) => WireEnd.open(forge, name)) as [
      Promise<WireEnd>,
      Promise<WireEnd>,
      Promise<WireEnd>,
      Promise<WireEnd>,
    ],
  );
  gatewayMac = JSON.parse((await exec('ip', ['-j', 'link', 'show', BRIDGE])).stdout)[0].address;
  server = createSocket('udp4').bind(67, '0.0.0.0');
  await once(server, 'listening');
});

/** Reloads the rules, which also resets every rate limit. */
beforeEach(() => loadFirewall(PLANS, elementsOf(PORTS, BINDINGS)));

afterAll(async () => {
  server?.close();
  await Promise.all([host, us, them, stray].map((end) => end?.close()));
  for (const port of [portName(US), portName(THEM), 'mfwirestray', BRIDGE]) await exec('ip', ['link', 'delete', port]);
  await removeFirewall(BRIDGE);
});

let count = 0;
/** Returns a unique packet that is allowed. */
function last(from = US, source = OURS): string {
  return ipv4(
    { from, to: gatewayMac },
    { source, destination: GATEWAY },
    udp(9, 9, (++count).toString(16).padStart(8, '0')),
  );
}

const ends = (): Ends => ({ from: US, to: gatewayMac });
const OWN = { operation: 1, sender: OURS, senderMac: US, target: GATEWAY };
const asks = (changed: Partial<Parameters<typeof arp>[1]> = {}, from = US) => arp({ from }, { ...OWN, ...changed });
const EVERYBODY = { source: '0.0.0.0', destination: '255.255.255.255' };
const message = (changed: Partial<Parameters<typeof dhcp>[0]> = {}) => dhcp({ type: 1, hardware: US, ...changed });
const discovers = (
  changed: Partial<Parameters<typeof dhcp>[0]> = {},
  packet: Partial<Packet> = {},
  { from = US, ports = [68, 67] }: { from?: string; ports?: [number, number] } = {},
) => ipv4({ from }, { ...EVERYBODY, ...packet }, udp(...ports, message(changed)));
const talks = (packet: Partial<Packet> = {}, from = US, payload = udp(1000, 1000)) =>
  ipv4({ from, to: gatewayMac }, { source: OURS, destination: GATEWAY, ...packet }, payload);
const IPV6_ALL = '33:33:00:00:00:01';
const ipv6 = (next: string, payload: string) =>
  ethernet(
    { from: US, to: IPV6_ALL },
    0x86dd,
    `60000000${(payload.length / 2).toString(16).padStart(4, '0')}${next}fffe80000000000000505400fffe00000aff020000000000000000000000000001${payload}`,
  );

/** Forged frames, each with an allowed one that differs only in this. */
const REFUSED: [attack: string, honest: () => string, forged: () => string][] = [
  [
    'an ARP reply for the address beside it',
    () => asks({ operation: 2 }),
    () => asks({ operation: 2, sender: THEIRS }),
  ],
  ['an ARP reply for the gateway', () => asks({ operation: 2 }), () => asks({ operation: 2, sender: GATEWAY })],
  ['an ARP reply for an address of nobody', () => asks({ operation: 2 }), () => asks({ operation: 2, sender: FREE })],
  ['an ARP request as the address beside it', asks, () => asks({ sender: THEIRS })],
  [
    'an announcement of the address beside it',
    () => asks({ target: OURS }),
    () => asks({ sender: THEIRS, target: THEIRS }),
  ],
  [
    "an ARP reply that names another's hardware",
    () => asks({ operation: 2 }),
    () => asks({ operation: 2, senderMac: THEM }),
  ],
  ['all of the one beside it, in ARP', asks, () => asks({ sender: THEIRS, senderMac: THEM }, THEM)],
  ['an ARP reply from no address', () => asks({ sender: '0.0.0.0' }), () => asks({ sender: '0.0.0.0', operation: 2 })],
  ['a reverse ARP request', asks, () => asks({ type: 0x8035, operation: 3 })],
  ['an ARP operation that is none', asks, () => asks({ operation: 9 })],
  ['ARP of other hardware', asks, () => asks({ head: '000608000604' })],
  ['ARP of another protocol', asks, () => asks({ head: '000186dd0604' })],
  ['ARP with longer hardware addresses', asks, () => asks({ head: '000108000804' })],
  ['ARP that is cut off', asks, () => asks().slice(0, 50)],
  ['ARP from a hardware address of its own', asks, () => asks({}, STRAY)],
  ['DHCP for the hardware beside it', discovers, () => discovers({ hardware: THEM })],
  ['DHCP for hardware of nobody', discovers, () => discovers({ hardware: '52:54:00:77:77:77' })],
  ['DHCP with a longer hardware address', discovers, () => discovers({ head: '01011000' })],
  ['DHCP of other hardware', discovers, () => discovers({ head: '01060600' })],
  ['DHCP that was relayed', discovers, () => discovers({ head: '01010601' })],
  ['DHCP by way of a relay', discovers, () => discovers({ relay: OURS })],
  ['an answer of a DHCP server', discovers, () => discovers({ head: '02010600' }, {}, { ports: [67, 68] })],
  ['the same with an address of its own', talks, () => talks({}, US, udp(67, 68))],
  ['DHCP from another port', discovers, () => discovers({}, {}, { ports: [69, 67] })],
  ['DHCP from the hardware beside it', discovers, () => discovers({}, {}, { from: THEM })],
  ['DHCP as the address beside it', () => discovers({}, { source: OURS }), () => discovers({}, { source: THEIRS })],
  ['DHCP from no address to one', discovers, () => discovers({}, { destination: GATEWAY })],
  ['DHCP in a fragment', discovers, () => discovers({}, { fragment: 0x2000 })],
  ['DHCP that is cut off', discovers, () => ipv4({ from: US }, EVERYBODY, udp(68, 67, '01010600'))],
  [
    "the end of a lease that is another's",
    () => talks({}, US, udp(68, 67, message({ type: 7, clientAddress: OURS }))),
    () => talks({}, US, udp(68, 67, message({ type: 7, clientAddress: THEIRS, hardware: THEM }))),
  ],
  ['the refusal of one', () => discovers({ type: 4 }), () => discovers({ type: 4, hardware: THEM })],
  ['IPv4 as the address beside it', talks, () => talks({ source: THEIRS })],
  ['IPv4 as the gateway', talks, () => talks({ source: GATEWAY })],
  ['IPv4 from an address of nobody', talks, () => talks({ source: FREE })],
  ['IPv4 from a public address', talks, () => talks({ source: '192.0.2.7' })],
  ['IPv4 from the host itself', talks, () => talks({ source: '127.0.0.1' })],
  ['IPv4 from no address', talks, () => talks({ source: '0.0.0.0' })],
  ['IPv4 from the hardware beside it', talks, () => talks({}, THEM)],
  ['all of the one beside it, in IPv4', talks, () => talks({ source: THEIRS }, THEM)],
  ['a fragment', talks, () => talks({ fragment: 0x2000 })],
  ['the end of a fragment', talks, () => talks({ fragment: 0x0010 })],
  ['IPv4 that is cut off', talks, () => talks().slice(0, 60)],
  ['a router of IPv6', talks, () => ipv6('3a', '8600000040000708000000000000000003040000')],
  ['a question for a neighbour of IPv6', talks, () => ipv6('3a', '8700000000000000fe800000000000000000000000000001')],
  ['an answer to one', talks, () => ipv6('3a', '8800000020000000fe800000000000000000000000000001')],
  ['DHCPv6', talks, () => ipv6('11', '02220223000c000001000001')],
  ['IPv6 in IPv4', talks, () => talks({ protocol: 41, source: THEIRS })],
  ['a tag of a VLAN before ARP', asks, () => ethernet({ from: US }, 0x8100, `0001${asks().slice(24)}`)],
  ['a tag of VLAN 0 before IPv4', talks, () => ethernet(ends(), 0x8100, `0000${talks().slice(24)}`)],
  ['two tags', talks, () => ethernet(ends(), 0x88a8, `000181000001${talks().slice(24)}`)],
  ['a spanning tree', talks, () => ethernet({ from: US, to: '01:80:c2:00:00:00' }, 0x0026, `424203${'00'.repeat(36)}`)],
  ['LLDP', talks, () => ethernet({ from: US, to: '01:80:c2:00:00:0e' }, 0x88cc, '00'.repeat(46))],
  ['EAPOL', talks, () => ethernet({ from: US, to: '01:80:c2:00:00:03' }, 0x888e, '00'.repeat(46))],
  ['PPPoE', talks, () => ethernet({ from: US }, 0x8863, '00'.repeat(46))],
  ['MPLS', talks, () => ethernet({ from: US }, 0x8847, '00'.repeat(46))],
  ['no protocol at all', talks, () => ethernet({ from: US }, 0x0010, '00'.repeat(46))],
  ['ARP in a frame for another protocol', talks, () => ethernet({ from: US }, 0x88b5, asks().slice(28))],
];

it.each(REFUSED)('a guest cannot send: %s', async (_attack, honest, forged) => {
  const [good, bad, end] = [honest(), forged(), last()];
  expect(good).not.toBe(bad);
  for (const frame of [good, bad, end]) us.send(frame);
  expect(await host.until(end)).toEqual([good, end]);
});

const FLOOD = 5_000;

/** Returns the neighbours in the host's table. */
async function neighbours(): Promise<string[]> {
  const { stdout } = await exec('ip', ['-4', 'neighbour', 'show', 'dev', BRIDGE]);
  return stdout.split('\n').flatMap((line) => (line.includes('lladdr') ? [line.split(' ')[0] ?? ''] : []));
}

/** Returns the hardware addresses in the bridge's table. */
async function learned(): Promise<string[]> {
  const { stdout } = await exec('bridge', ['fdb', 'show', 'br', BRIDGE, 'dynamic']);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')[0] ?? '']));
}

describe('a guest that floods', () => {
  it.each([
    ['with ARP', () => asks({ sender: '10.98.0.??' })],
    ['to everybody', () => ethernet({ from: RANDOM_MAC }, 0x0800, '00'.repeat(46))],
    ['to the next bridge', () => ethernet({ from: RANDOM_MAC, to: '01:80:c2:00:00:0e' }, 0x88cc, '00'.repeat(46))],
    ['as many machines', () => talks({}, RANDOM_MAC)],
  ])('fills no table of the host: %s', async (_how, frame) => {
    const end = last();
    us.send(frame(), FLOOD);
    us.send(end);
    await host.until(end);
    expect((await learned()).filter((mac) => ![US, THEM].includes(mac)).length).toBe(0);
    expect((await neighbours()).filter((address) => ![OURS, THEIRS].includes(address)).length).toBe(0);
  });

  it.each([
    ['ARP', () => asks({ target: '10.98.0.??' }), GUEST_LIMITS.network.arp.burst],
    ['DHCP', () => discovers({ transaction: '????????' }), GUEST_LIMITS.network.dhcp.burst],
  ])('is rate limited: %s', async (_what, frame, burst) => {
    const end = last();
    us.send(frame(), FLOOD);
    us.send(end);
    const heard = (await host.until(end)).length - 1;
    expect(heard).toBeGreaterThanOrEqual(burst);
    expect(heard).toBeLessThan(FLOOD / 10); // the rate adds some per second of sending
    // its neighbour has its own rates
    const [theirs, after] = [asks({ sender: THEIRS, senderMac: THEM }, THEM), last(THEM, THEIRS)];
    for (const sent of [theirs, after]) them.send(sent);
    expect(await host.until(after)).toEqual([theirs, after]);
  });
});

it.each([
  ['what it would itself say', asks({ sender: FREE, senderMac: STRAY }, STRAY)],
  ['the words of another', asks()],
  ['DHCP', discovers({ hardware: STRAY }, {}, { from: STRAY })],
  ['the DHCP of another', discovers()],
  ['IPv4', talks()],
])('a port without an entry reaches the host with nothing: %s', async (_what, frame) => {
  await exec('ip', ['neighbour', 'flush', 'dev', BRIDGE]);
  const messages: string[] = [];
  const collect = (bytes: Buffer) => messages.push(bytes.toString('hex'));
  server.on('message', collect);
  const behind = asks({ target: '10.98.0.99' }, STRAY); // ARP gets as far as the bridge
  const end = message({ transaction: '0badcafe' });
  stray.send(frame);
  stray.send(behind);
  await host.until(behind);
  them.send(discovers({ hardware: THEM, transaction: '0badcafe' }, {}, { from: THEM }));
  while (messages.length === 0) await once(server, 'message');
  server.off('message', collect);
  expect(messages).toEqual([end.replace('52540000000a', '52540000000b')]);
  expect(await neighbours()).toEqual([]);
});

/** Guards: the kernel delivers such a frame to its port itself, past the bridge and its rules. */
describe('IP in a link-local frame', () => {
  const PAST = '01:80:c2:00:00:0e';
  it.each([
    ['of a guest', () => us, US, OURS],
    ['of a port without an entry', () => stray, STRAY, FREE],
  ])('does not reach the host: %s', async (_whose, end, mac, address) => {
    await exec('ip', ['neighbour', 'flush', 'dev', BRIDGE]);
    const heard: string[] = [];
    const collect = (bytes: Buffer) => heard.push(bytes.toString('hex'));
    server.on('message', collect);
    const ways = { from: mac, to: PAST };
    end().send(ipv4(ways, { source: address, destination: GATEWAY }, udp(68, 67, 'bad0')));
    end().send(ipv4(ways, { source: address, destination: GATEWAY }, udp(5000, 67, 'bad1')));
    end().send(arp(ways, { operation: 1, sender: address, senderMac: mac, target: GATEWAY }));
    const behind = arp({ from: mac }, { operation: 1, sender: address, senderMac: mac, target: '10.98.0.98' });
    end().send(behind);
    await host.until(behind);
    them.send(discovers({ hardware: THEM }, {}, { from: THEM }));
    while (heard.length === 0) await once(server, 'message');
    server.off('message', collect);
    expect(heard).toEqual([message({ hardware: THEM })]);
    expect((await neighbours()).filter((found) => found === address)).toEqual([]);
  });
});

describe('frames to a guest', () => {
  /** Sends from the host to an address with a known hardware address. */
  async function tell(address: string, mac: string): Promise<void> {
    await exec('ip', ['neighbour', 'replace', address, 'lladdr', mac, 'dev', BRIDGE, 'nud', 'permanent']);
    await new Promise((resolve) => server.send('for one alone', 1234, address, resolve));
    await exec('ip', ['neighbour', 'delete', address, 'dev', BRIDGE]);
  }

  it('reach only that guest, also before the bridge has learned its port', async () => {
    await exec('ip', ['link', 'set', BRIDGE, 'type', 'bridge', 'fdb_flush']);
    await tell(THEIRS, THEM);
    await tell(OURS, US);
    const [first] = await Promise.all([next(us), next(them)]);
    expect(first.slice(0, 12)).toBe(US.replaceAll(':', ''));
  });

  it('come from the host only, not from other guests', async () => {
    const frame = ipv4({ from: US, to: THEM }, { source: OURS, destination: THEIRS }, udp(1, 1));
    const end = last();
    us.send(frame);
    us.send(end);
    await host.until(end);
    await tell(THEIRS, THEM);
    expect((await next(them)).slice(0, 24)).toBe(`${THEM}${gatewayMac}`.replaceAll(':', ''));
  });
});

/** Returns the next incoming frame. */
async function next(end: WireEnd): Promise<string> {
  return (await end.some()).at(0) ?? '';
}
