import { beforeAll, expect, test } from 'vitest';
import type { Playbook, WritePlaybook } from '../../../clients/typescript/http/openapi.ts';
import { tarEntries } from '../../../model/image/tar-scanner.ts';
import { isPlaybookOver } from '../../../model/playbook/playbook.ts';
import { ansibleArchive } from '../../../worker/config/artifacts.mjs';
import { eventually } from '../../support/eventually.ts';
import { BASE, CHANGES, DEB, LEFT, SECRETS } from '../../support/playbook-changes.ts';
import { bootedSnapshot, useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
/** Timeout of a test, ms: a minute on two idle cores, many without KVM beside other work. */
const LONGEST_MS = 2_400_000;
const mayfly = useServedOnLibvirt();
let booted: string;
beforeAll(async () => {
  booted = await bootedSnapshot(mayfly());
}, LONGEST_MS);

async function ran(id: string, command: string): Promise<void> {
  const { commands } = mayfly().client;
  const { exitCode, id: commandId } = await commands.run(id, { command, user: 'root' }, WAIT);
  const said = async () => await new Response(await commands.output(id, commandId, 'stderr')).text();
  expect({ command, exitCode, said: exitCode === 0 ? '' : await said() }).toEqual({ command, exitCode: 0, said: '' });
}

/** Writes a playbook, and prints the time of each state. @returns the finished playbook */
async function written(sandboxId: string, wish: WritePlaybook): Promise<Playbook> {
  const { playbooks } = mayfly().client;
  const began = performance.now();
  const { id } = await playbooks.write(sandboxId, wish);
  const times = new Map<string, string>();
  const look = async () => {
    const playbook = await playbooks.get(id);
    if (!times.has(playbook.state)) times.set(playbook.state, `${((performance.now() - began) / 1_000).toFixed(1)} s`);
    return playbook;
  };
  const playbook = await eventually(look, ({ state }) => isPlaybookOver(state), LONGEST_MS);
  process.stderr.write(
    `${id}: ${JSON.stringify([...times])} ${JSON.stringify(playbook.check ?? playbook.unchecked)}\n`,
  );
  return playbook;
}

async function nothingIsLeft({ sandboxId, checkerId }: Playbook): Promise<void> {
  const { client } = mayfly();
  expect(await client.getSandbox(checkerId)).toMatchObject({ state: 'destroyed' });
  const { items } = await client.snapshots.list(sandboxId, {});
  expect(items.filter(({ reason }) => reason === 'diff')).toEqual([]);
}

test.skipIf(ansibleArchive() === null)(
  'a playbook reproduces the changes of one virtual machine in a fresh one',
  { tags: ['tool'], timeout: LONGEST_MS },
  async () => {
    const { client } = mayfly();
    const { id } = await client.createSandbox({ snapshotId: booted }, WAIT);
    await ran(id, BASE);
    const { id: from } = await client.snapshots.take(id, { kind: 'full' }, WAIT);
    for (const command of Object.values(CHANGES)) await ran(id, `set -e; ${command}`);
    const playbook = await written(id, { from });
    const runs = [{ failed: 0 }, { changed: 0, failed: 0 }];
    expect(playbook).toMatchObject({ state: 'checked', failure: null, unchecked: null, check: { runs } });
    const { broughtAbout = 0, paths = 1, left = [], beyond = ['?'] } = playbook.check ?? {};
    const named = left.map(({ path }) => path);
    expect([...new Set(named)].sort()).toEqual([...LEFT, '/var/lib/dpkg/status'].sort());
    expect(left.find(({ path }) => path === '/var/lib/dpkg/status')?.why).toContain('stranger');
    expect([broughtAbout + LEFT.length, beyond]).toEqual([paths, []]);
    expect(broughtAbout / paths).toBeGreaterThanOrEqual(0.95);
    expect(playbook.written?.packages).toEqual([
      { name: 'greeter', version: '1.0', change: 'installed' },
      { name: 'greeter-data', version: '1.0', change: 'installed' },
      { name: 'stranger', version: '1.0', change: 'installed' },
      { name: 'old', version: null, change: 'purged' },
    ]);
    const archive = tarEntries(await client.playbooks.archive(playbook.id));
    const all = archive.map(({ bytes }) => Buffer.from(bytes).toString('latin1')).join('\n');
    for (const secret of SECRETS) expect(all).not.toMatch(secret);
    await nothingIsLeft(playbook);
  },
);

test.skipIf(ansibleArchive() === null)(
  'without a network a playbook is not checked, and its packages are listed (case 4)',
  { tags: ['tool'], timeout: LONGEST_MS },
  async () => {
    const { id } = await mayfly().client.createSandbox({ snapshotId: booted }, WAIT);
    await ran(id, `${DEB} deb lonely '' /tmp; rm -r /srv/build; dpkg -i /tmp/lonely.deb`);
    const playbook = await written(id, { network: { egress: 'none' } });
    expect(playbook).toMatchObject({
      state: 'unchecked',
      unchecked: expect.stringContaining('Install a package'),
      written: { packages: [{ name: 'lonely', version: '1.0', change: 'installed' }] },
    });
    await nothingIsLeft(playbook);
  },
);
