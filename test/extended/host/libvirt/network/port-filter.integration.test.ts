import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { removeFirewall } from '../../../../../host/libvirt/network/firewall.ts';
import { Leases } from '../../../../../host/libvirt/network/leases.ts';
import { PortFilter } from '../../../../../host/libvirt/network/port-filter.ts';
import { portName, portsOf } from '../../../../../host/libvirt/network/ports.ts';
import { exec } from '../../../../../host/os/exec.ts';
import { ID_BYTES, macAddress, sandboxIdFrom } from '../../../../../model/ids.ts';
import { useFolder } from '../../../../support/use-folder.ts';

const BRIDGE = 'mffilter0';
const NETWORKS = {
  isolated: { name: 'filter', bridge: BRIDGE, subnet: '10.97.0.0/24' },
  internet: { name: 'filter-internet', bridge: 'mffilter1', subnet: '10.97.1.0/24' },
  dnsServers: [],
};
const [FIRST, SECOND] = [0, 1].map(() => sandboxIdFrom(randomBytes(ID_BYTES))) as [string, string];
const IN_A_MINUTE = Math.floor(Date.now() / 1000) + 60;

const folder = useFolder();
let here: string[];
let filter: PortFilter;

beforeAll(async () => {
  if (!process.env['MAYFLY_TEST_NETNS']) throw new Error('Run this with npm test, which makes a network namespace.');
  await exec('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
});

beforeEach(async () => {
  here = [FIRST];
  await leased();
  filter = new PortFilter({
    networks: NETWORKS,
    leases: new Leases(folder, [BRIDGE, 'mffilter1']),
    sandboxIds: async () => here,
  });
  await filter.load();
});

afterAll(async () => {
  await exec('ip', ['link', 'delete', BRIDGE]);
  await removeFirewall(BRIDGE);
});

async function leased(...leases: { mac: string; address: string; end: number }[]): Promise<void> {
  const entries = leases.map(({ mac, address, end }) => ({
    'ip-address': address,
    'mac-address': mac,
    'expiry-time': end,
  }));
  await writeFile(join(folder, `${BRIDGE}.status`), JSON.stringify(entries));
}

/** Returns the elements of a set of the rules, sorted. */
async function held(set: 'ports' | 'addresses'): Promise<string[]> {
  const { stdout } = await exec('nft', ['--json', 'list', 'set', 'bridge', `mayfly_${BRIDGE}`, set]);
  const listed: { nftables: { set?: { elem?: { concat: string[] }[] } }[] } = JSON.parse(stdout);
  return listed.nftables
    .flatMap((item) => item.set?.elem ?? [])
    .map(({ concat }) => concat.join(' '))
    .sort();
}

const expected = (...ids: string[]) =>
  ids.flatMap((id) => portsOf(id).map(({ name, macAddress: mac }) => `${name} ${mac}`)).sort();

it('adds ports of present sandboxes, and removes those of absent ones', async () => {
  expect(await held('ports')).toEqual(expected(FIRST));
  here = [FIRST, SECOND];
  await filter.sync();
  expect(await held('ports')).toEqual(expected(FIRST, SECOND));
  here = [SECOND];
  await filter.sync();
  expect(await held('ports')).toEqual(expected(SECOND));
  expect(portName(macAddress(SECOND)).length).toBeLessThanOrEqual(15);
});

it('permits an address to the listed lease that ends last', async () => {
  const [ours, theirs] = [macAddress(FIRST), macAddress(SECOND)];
  await leased({ mac: ours, address: '10.97.0.2', end: IN_A_MINUTE - 600 });
  await filter.sync();
  expect(await held('addresses')).toEqual([`${ours} 10.97.0.2`]);
  await leased(
    { mac: theirs, address: '10.97.0.2', end: IN_A_MINUTE },
    { mac: ours, address: '10.97.0.2', end: IN_A_MINUTE - 600 },
  );
  await filter.sync();
  expect(await held('addresses')).toEqual([`${theirs} 10.97.0.2`]);
  await leased();
  await filter.sync();
  expect(await held('addresses')).toEqual([]);
});

it('adds a port that libvirt named, with the address that it was plugged in with', async () => {
  await exec('ip', [
    'link',
    'add',
    'vnet97',
    'address',
    'fe:54:00:01:02:03',
    'type',
    'veth',
    'peer',
    'name',
    'mffilterpeer',
  ]);
  await exec('ip', ['link', 'set', 'vnet97', 'master', BRIDGE]);
  try {
    await filter.sync();
    expect(await held('ports')).toEqual([...expected(FIRST), 'vnet97 52:54:00:01:02:03'].sort());
  } finally {
    await exec('ip', ['link', 'delete', 'vnet97']);
  }
  await filter.sync();
  expect(await held('ports')).toEqual(expected(FIRST));
});

it('adds no port of an absent sandbox that is still plugged in', async () => {
  const mac = macAddress(SECOND);
  await exec('ip', [
    'link',
    'add',
    portName(mac),
    'address',
    mac.replace('52:', 'fe:'),
    'type',
    'veth',
    'peer',
    'name',
    'mffilterpeer',
  ]);
  await exec('ip', ['link', 'set', portName(mac), 'master', BRIDGE]);
  try {
    await filter.sync();
    expect(await held('ports')).toEqual(expected(FIRST));
  } finally {
    await exec('ip', ['link', 'delete', portName(mac)]);
  }
});

it('repairs elements of another process, and refusals of the kernel, at the next sync', async () => {
  const fill = `add element bridge mayfly_${BRIDGE} addresses { 52:54:00:00:00:01 . 10.97.0.1 }`;
  await exec('nft', ['--file', '-'], { input: `${fill}\n` });
  const another = new PortFilter({
    networks: NETWORKS,
    leases: new Leases(folder, [BRIDGE]),
    sandboxIds: async () => here,
  });
  await another.sync();
  expect(await held('addresses')).toEqual([]);

  await removeFirewall(BRIDGE);
  here = [FIRST, SECOND];
  await expect(filter.sync()).rejects.toThrow(/No such file/);
  await filter.load();
  expect(await held('ports')).toEqual(expected(FIRST, SECOND));
});

it('reloads all elements after a foreign flush', async () => {
  await exec('nft', ['flush', 'set', 'bridge', `mayfly_${BRIDGE}`, 'ports']);
  here = [SECOND];
  await filter.sync();
  expect(await held('ports')).toEqual(expected(SECOND));
});

it.each([
  ['flushes one chain', ['flush', 'chain', 'bridge', `mayfly_${BRIDGE}`, 'from_port'], ['bridge']],
  ['flushes everything', ['flush', 'ruleset'], ['inet', 'bridge', 'arp']],
  ['removes a table', ['delete', 'table', 'arp', `mayfly_${BRIDGE}`], ['arp']],
  ['lets a packet by', ['insert', 'rule', 'inet', `mayfly_${BRIDGE}`, 'input', 'accept'], ['inet']],
])('a process that %s is detected, and all rules are loaded again', async (_what, change, families) => {
  here = [FIRST, SECOND];
  await filter.sync();
  expect(await filter.mend()).toEqual([]);
  await exec('nft', change);
  expect((await filter.mend()).sort()).toEqual(families.map((family) => `${family} mayfly_${BRIDGE}`).sort());
  expect(await filter.mend()).toEqual([]);
  expect(await held('ports')).toEqual(expected(FIRST, SECOND));
});
