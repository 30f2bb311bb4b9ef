import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exec } from '../../host/os/exec.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { census, residueIn } from './census/census.ts';
import type { CensusPlace } from './census/finding.ts';

const GONE = 'sbx-0123456789abcdef';
const ALIVE = 'sbx-zzzzzzzzzzzzzzzz';
const SNAPSHOT = 'snp-0123456789abcdef';
const CAPTURE = 'cap-0123456789abcdef';
const BRIDGE = 'mayflycensus';
const TAP = 'vnet4242';
const MAC = '52:54:00:aa:bb:cc';
const ADDRESS = '127.65.1.2';

let place: CensusPlace;
let remove: () => Promise<void>;
const undo: (() => Promise<unknown>)[] = [];
const at = (...parts: string[]) => join(place.stateDir, ...parts);

beforeAll(async () => {
  const made = await temporaryState();
  remove = made.remove;
  place = { stateDir: made.state.root, libvirtUri: null };
});
afterAll(async () => {
  for (const each of undo.reverse()) await each();
  await remove();
});

async function listening(server: Server, where: string | { host: string; port: number }): Promise<void> {
  await new Promise<void>((resolve) => server.listen(where, resolve));
  undo.push(() => new Promise((resolve) => server.close(resolve)));
}

/** Starts an idle process that the end of the test kills. */
function idle(cwd: string): ChildProcess {
  const child = spawn('sleep', ['1000'], { cwd, stdio: 'ignore' });
  undo.push(async () => child.kill('SIGKILL'));
  return child;
}

/** Creates a machine in libvirt's test driver. */
async function testLibvirt(): Promise<string> {
  const file = at('libvirt-test.xml');
  const nic = `<interface type='bridge'><source bridge='${BRIDGE}'/><mac address='${MAC}'/><target dev='${TAP}'/></interface>`;
  const domain = `<domain type='test'><name>${GONE}</name><memory>1024</memory><os><type>hvm</type></os><devices>${nic}</devices></domain>`;
  await writeFile(file, `<node>${domain}</node>`);
  return `test://${file}`;
}

async function folder(kind: string, parent: string, name: string): Promise<string> {
  await mkdir(at(parent, name), { recursive: true });
  return `${kind} of ${name.slice(0, GONE.length)}`;
}

/** Plants each kind of residue. */
const PLANTED: Record<string, () => Promise<string>> = {
  'a workspace': () => folder('workspace', 'sandboxes', GONE),
  'half a workspace': () => folder('workspace', 'sandboxes', `${GONE}.new`),
  credentials: () => folder('credentials', 'credentials', GONE),
  'a snapshot': () => folder('snapshot', 'snapshots', SNAPSHOT),
  'a capture': () => folder('capture', 'captures', CAPTURE),
  'a reservation': async () => {
    await mkdir(at('reservations'), { recursive: true });
    await writeFile(at('reservations', `${GONE}.json`), '{}');
    return `reservation of ${GONE}`;
  },
  'saved memory': async () => {
    await mkdir(at('libvirt', 'lib', 'qemu', 'save'), { recursive: true });
    await writeFile(at('libvirt', 'lib', 'qemu', 'save', `${GONE}.save`), '');
    return `file of ${GONE}`;
  },
  'a process': async () => {
    await mkdir(at('sandboxes', GONE), { recursive: true });
    idle(at('sandboxes', GONE));
    return `process of ${GONE}`;
  },
  'a process of libvirt': async () => {
    const child = spawn('sh', ['-c', 'sleep 1000; :', `guest=${GONE}`], { stdio: 'ignore', detached: true });
    undo.push(async () => process.kill(-(child.pid ?? 0), 'SIGKILL'));
    return `process of ${GONE}`;
  },
  'a mount': async () => {
    const folder = at('sandboxes', GONE, 'root', 'usr');
    await mkdir(folder, { recursive: true });
    await exec('mount', ['-t', 'tmpfs', 'tmpfs', folder]);
    undo.push(() => exec('umount', [folder]));
    return `mount of ${GONE}`;
  },
  'a named socket': async () => {
    await mkdir(at('run', GONE), { recursive: true });
    await listening(createServer(), at('run', GONE, 'monitor.sock'));
    return `socket of ${GONE}`;
  },
  'a listener with a lease': async () => {
    await writeFile(at('simulated.leases'), `52:54:00:11:22:33 ${ADDRESS} ${GONE}\n`);
    await listening(createServer(), { host: ADDRESS, port: 2222 });
    return `socket of ${GONE}: somebody listens on ${ADDRESS}`;
  },
  'a listener without one': async () => {
    await listening(createServer(), { host: '127.65.1.3', port: 2222 });
    return 'socket of nobody: somebody listens on 127.65.1.3';
  },
  'a lease': async () => {
    await writeFile(at('simulated.leases'), `52:54:00:11:22:33 ${ADDRESS} ${GONE}\n`);
    return `lease of ${GONE}`;
  },
  'a lease of libvirt': async () => {
    const folder = at('libvirt', 'lib', 'dnsmasq');
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, `${BRIDGE}.status`),
      '[{"ip-address": "10.0.0.9", "mac-address": "52:54:00:99:99:99"}]',
    );
    return 'lease of nobody';
  },
  'a domain': async () => {
    place = { ...place, libvirtUri: await testLibvirt() };
    return `domain of ${GONE}`;
  },
  'a tap of a machine': async () => {
    place = { ...place, libvirtUri: await testLibvirt() };
    await exec('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
    undo.push(() => exec('ip', ['link', 'delete', BRIDGE]));
    await exec('ip', ['tuntap', 'add', TAP, 'mode', 'tap']);
    undo.push(() => exec('ip', ['link', 'delete', TAP]));
    await exec('ip', ['link', 'set', TAP, 'address', MAC.replace(/^52/, 'fe'), 'master', BRIDGE]); // like QEMU's
    return `tap of ${GONE}`;
  },
  'a tap of nobody': async () => {
    place = { ...place, libvirtUri: 'test:///default' };
    return `tap of nobody: ${TAP}`;
  },
  'a rule for a port': async () => {
    place = { ...place, libvirtUri: 'test:///default' };
    await exec('nft', ['add table inet mayfly_census']);
    undo.push(() => exec('nft', ['delete table inet mayfly_census']));
    await exec('nft', ['add chain inet mayfly_census one']);
    await exec('nft', [`add rule inet mayfly_census one iifname "${TAP}" drop`]);
    return 'firewall of nobody';
  },
};

test('a clean machine has no residue', async () => {
  expect(residueIn(await census([place]), new Set())).toEqual([]);
});

test.each(Object.entries(PLANTED))('the census finds %s', async (_what, plant) => {
  const line = await plant();
  const residue = residueIn(await census([place]), new Set([ALIVE]));
  expect(
    residue.some((each) => each.startsWith(line)),
    residue.join('\n'),
  ).toBe(true);
});

test('resources of live owners are not residue', async () => {
  const findings = await census([{ ...place, libvirtUri: null }]);
  const left = residueIn(findings, new Set([GONE, SNAPSHOT, CAPTURE]));
  expect(left.filter((line) => !line.includes('of nobody'))).toEqual([]);
  expect(findings.length).toBeGreaterThan(8);
});
