import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DhcpLease, Leases } from '../../../host/libvirt/network/leases.ts';
import { portName } from '../../../host/libvirt/network/ports.ts';
import { leaseFolderOf } from '../../../host/libvirt/network/private-libvirtd.ts';
import { exec } from '../../../host/os/exec.ts';
import { macAddress } from '../../../model/ids.ts';
import { GUEST_LIMITS } from '../../../model/limits.ts';
import { attackFrames, connectionFrame, type Place, TRAP_PORT } from '../../host/libvirt/network/attack.ts';
import { buildForge } from '../../host/libvirt/network/wire.ts';
import { eventually } from '../../support/eventually.ts';
import { bootedSnapshot, useServedOnLibvirt } from '../../support/served-on-libvirt.ts';
import { useFolder } from '../../support/use-folder.ts';

const WAIT = { waitSeconds: 240 };
const NETWORK = { egress: 'internet' } as const;
const BRIDGE = 'mayfly1';
const GATEWAY = '10.213.16.1';
const RANGE = Array.from({ length: 16 }, (_, n) => `10.213.${16 + n}`);
/** Public address, routed by the test out of its network namespace to nowhere. */
const INTERNET = '203.0.113.7';
const SOURCE = 'golden-debian12';

const mayfly = useServedOnLibvirt();
const folder = useFolder();
/** Packets that reached the host from a guest. */
const caught: string[] = [];
const listeners = [createSocket('udp4'), createServer()] as const;
let [attacker, bystander] = ['', ''];

beforeAll(async () => {
  await exec('ip', ['link', 'add', 'mfoutside', 'type', 'veth', 'peer', 'name', 'mfnowhere']);
  for (const name of ['mfoutside', 'mfnowhere']) await exec('ip', ['link', 'set', name, 'up']);
  await exec('ip', ['route', 'add', `${INTERNET}/32`, 'dev', 'mfoutside']);
  const [udp, tcp] = listeners;
  udp.on('message', (_, from) => caught.push(`a datagram of ${from.address}`)).bind(TRAP_PORT);
  tcp.on('connection', (socket) => caught.push(`a connection of ${socket.remoteAddress}`)).listen(TRAP_PORT);
  await Promise.all([once(udp, 'listening'), once(tcp, 'listening')]);
  const snapshotId = await bootedSnapshot(mayfly());
  const woken = () => mayfly().client.createSandbox({ snapshotId, network: NETWORK }, WAIT);
  [attacker, bystander] = (await Promise.all([woken(), woken()])).map(({ id }) => id) as [string, string];
  const program = await readFile(await buildForge(folder));
  await mayfly().client.files.write(attacker, '/home/sandbox/forge', program, { mode: '0755' });
});

afterAll(async () => {
  for (const listener of listeners) listener.close();
  await exec('ip', ['link', 'delete', 'mfoutside']);
});

const leases = async (): Promise<DhcpLease[]> =>
  new Leases(leaseFolderOf(join(mayfly().state.root, 'host', 'libvirt')), ['mayfly0', BRIDGE]).all();

async function addressOf(sandboxId: string): Promise<string> {
  const [lease, ...more] = (await leases()).filter((each) => each.macAddress === macAddress(sandboxId));
  if (!lease || more.length > 0) throw new Error(`${sandboxId} has ${more.length + (lease ? 1 : 0)} leases`);
  return lease.address;
}

/** Runs a command that must succeed, and returns its output. */
async function sh(sandboxId: string, command: string, stdin = ''): Promise<string> {
  const { commands } = mayfly().client;
  const ended = await commands.run(sandboxId, { command, stdin }, WAIT);
  expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
  return (await text(await commands.output(sandboxId, ended.id, 'stdout'))).trim();
}

const neighbour = async (sandboxId: string) => ({
  macAddress: macAddress(sandboxId),
  address: await addressOf(sandboxId),
});

async function place(): Promise<Place> {
  const mac = (await readFile(`/sys/class/net/${BRIDGE}/address`, 'utf8')).trim();
  const gateway = { macAddress: mac, address: GATEWAY };
  return { attacker: await neighbour(attacker), gateway, victims: [await neighbour(bystander)], range: RANGE };
}

/** Sends frames as root until the sandbox ends, and returns after a thousand of them. */
async function flood(lines: readonly string[]): Promise<void> {
  const { commands } = mayfly().client;
  const nic = await sh(attacker, 'ls /sys/class/net | grep -v lo');
  const command = `exec sudo /home/sandbox/forge flood ${nic}`;
  const stdin = lines.map((frame) => `1 ${frame}\n`).join('');
  const before = await sentBy();
  const { id } = await commands.run(attacker, { command, stdin }, { waitSeconds: 0 });
  await eventually(async () => {
    if ((await sentBy()) > before + 1_000) return true;
    if ((await commands.get(attacker, id)).state !== 'ended') return false;
    throw new Error(await text(await commands.output(attacker, id, 'stderr')));
  }, Boolean);
}

/** Returns the number of frames that the attacker's port has received. */
const sentBy = async () =>
  Number(await readFile(`/sys/class/net/${portName(macAddress(attacker))}/statistics/rx_packets`, 'utf8'));

/** Lists all listening ports of this machine, by the address for guests, and the SSH port of a neighbour. */
async function doors(): Promise<string[]> {
  const { stdout } = await exec('ss', ['-Htln']);
  const ports = new Set([...stdout.matchAll(/^\S+\s+\S+\s+\S+\s+\S+:(\d+)\s/gm)].map(([, port]) => port));
  expect(ports).toContain(String(TRAP_PORT));
  return [...[...ports, 22, 53, 67].map((port) => `${GATEWAY}:${port}`), `${await addressOf(bystander)}:22`];
}

interface Entry {
  dst?: string;
  mac?: string;
  lladdr?: string;
  state?: string[] | string;
}
const tables = async (...args: string[]): Promise<Entry[]> => {
  const [program = '', ...words] = args;
  return JSON.parse((await exec(program, words)).stdout || '[]') as Entry[];
};

/** Measures a cold create beside commands of a neighbour. */
async function make() {
  const began = performance.now();
  const making = mayfly().client.createSandbox({ source: SOURCE, network: NETWORK }, WAIT);
  let isMade = false;
  const over = () => {
    isMade = true;
  };
  void making.then(over, over);
  let commands = 0;
  for (; !isMade; commands++) expect(await sh(bystander, 'hostname')).toBe(bystander);
  const { id, state } = await making;
  return { id, state, commands, tookMs: Math.round(performance.now() - began) };
}

test('beside a guest that forges, floods and scans, others are used and created, and no attack gets through', async () => {
  const { client } = mayfly();
  const alone = await make();
  await client.destroySandbox(alone.id, WAIT);
  const gone = macAddress(alone.id);
  await flood(attackFrames(await place()));
  const before = await sentBy();
  const { id, state, ...beside } = await make();
  const frames = (await sentBy()) - before;
  process.stderr.write(
    `made in ${beside.tookMs} ms beside ${frames} frames and ${beside.commands} commands; ` +
      `without the frames in ${alone.tookMs} ms, beside ${alone.commands}\n`,
  );
  expect({ state, hostname: await sh(id, 'hostname') }).toEqual({ state: 'running', hostname: id });
  expect((await sentBy()) - before).toBeGreaterThan(10_000);

  const ours = new Map<string, string>();
  for (const each of [attacker, bystander, id]) ours.set(await addressOf(each), macAddress(each));
  expect(new Map((await leases()).map((lease) => [lease.address, lease.macAddress]))).toEqual(ours);
  const known = (await tables('ip', '-json', 'neigh', 'show', 'dev', BRIDGE)).filter(
    ({ lladdr }) => lladdr && lladdr !== gone,
  );
  for (const { dst = '', lladdr } of known) expect([dst, lladdr]).toEqual([dst, ours.get(dst)]);
  const learned = (await tables('bridge', '-json', 'fdb', 'show', 'br', BRIDGE)).filter(
    ({ state: kind, mac = '' }) => kind !== 'permanent' && !mac.startsWith('33:33') && mac !== gone,
  );
  expect([...ours.values()]).toEqual(expect.arrayContaining(learned.map(({ mac }) => mac)));
  expect(await sh(attacker, 'cat > doors; ./forge knock doors', (await doors()).join('\n'))).toBe('');
  expect(caught).toEqual([]);
  await client.destroySandbox(id, WAIT);
});

test('a guest fills at most its share of the connection table', async () => {
  await flood([connectionFrame(await place(), INTERNET)]);
  const count = async () => Number(await readFile('/proc/sys/net/netfilter/nf_conntrack_count', 'utf8'));
  const { connections } = GUEST_LIMITS.network;
  await eventually(count, (tracked) => tracked > 0.9 * connections);
  const before = await sentBy();
  await eventually(sentBy, (sent) => sent > before + 2 * connections);
  expect(await count()).toBeLessThan(1.1 * connections);
  expect(await sh(bystander, 'hostname')).toBe(bystander);
  for (const id of [attacker, bystander]) await mayfly().client.destroySandbox(id, WAIT);
  expect(await leases()).toEqual([]);
});
