import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killHolder, killLibvirtd } from '../../host/libvirt/killed-libvirtd.ts';
import { eventually } from '../../support/eventually.ts';
import { qemuOf } from '../../support/qemu-of.ts';
import { bootedSnapshot, useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
const mayfly = useServedOnLibvirt();
let snapshotId: string;
const figures: string[] = [];

beforeAll(async () => {
  snapshotId = await bootedSnapshot(mayfly());
});
afterAll(() => {
  process.stderr.write(`from death to record: ${figures.join(', ')}\n`);
});

/** Waits for the record of the death, and prints its delay, which has no limit on a busy machine. */
async function ends(sandboxId: string, code: string, died: number): Promise<void> {
  const { client } = mayfly();
  const ending = await eventually(
    () => client.getSandbox(sandboxId),
    ({ failure }) => failure !== null,
  );
  figures.push(`${code} ${Math.round(performance.now() - died)} ms`);
  expect(ending).toMatchObject({ stopReason: 'machine-ended', failure: { code } });
  const failed = await eventually(() => client.getSandbox(sandboxId), { state: 'failed' });
  expect(failed.proof?.observations.every(({ absent }) => absent)).toBe(true);
  expect(failed.proof?.observations.find(({ layer }) => layer === 'domain')?.lookedAt).toContain('/proc/*/cmdline');
}

test('a QEMU that is killed ends its sandbox as crashed, and its command as unknown', async () => {
  const { client } = mayfly();
  const { id } = await client.createSandbox({ snapshotId }, WAIT);
  const command = await client.commands.run(id, { command: 'sleep 600' }, { waitSeconds: 0 });
  await eventually(() => client.commands.get(id, command.id), { state: 'running' });
  const died = performance.now();
  process.kill(await qemuOf(id), 'SIGKILL');
  await ends(id, 'machine_crashed', died);
  const ended = await eventually(() => client.commands.get(id, command.id), { state: 'ended' });
  expect(ended).toMatchObject({ outcome: 'unknown' });
});

test('a guest that powers itself off ends its sandbox as stopped', async () => {
  const { client } = mayfly();
  const { id } = await client.createSandbox({ snapshotId }, WAIT);
  await client.commands.run(id, { command: 'sudo systemctl --force --force poweroff' }, { waitSeconds: 0 });
  const pid = await qemuOf(id);
  await eventually(() => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''), '');
  await ends(id, 'machine_stopped', performance.now());
});

test('a killed private libvirtd restarts: machines keep running, and new ones can be created', async () => {
  const { client } = mayfly();
  const { id } = await client.createSandbox({ snapshotId }, WAIT);
  await killLibvirtd({ libvirtFolder: libvirtFolder() });
  const made = await eventually(
    () => client.createSandbox({ snapshotId }, WAIT).catch(() => null), // refused while libvirtd is down
    (sandbox) => sandbox !== null,
  );
  expect(made).toMatchObject({ state: 'running' });
  expect(await client.getSandbox(id)).toMatchObject({ state: 'running', failure: null });
});

test('a killed libvirtd holder ends its machines, and new ones can be created', async () => {
  const { client } = mayfly();
  const { id } = await client.createSandbox({ snapshotId }, WAIT);
  const died = performance.now();
  await killHolder({ libvirtFolder: libvirtFolder() });
  await ends(id, 'machine_stopped', died); // a restarted libvirt knows of no crash
  expect(await client.createSandbox({ snapshotId }, WAIT)).toMatchObject({ state: 'running' });
});

const libvirtFolder = () => join(mayfly().state.root, 'host', 'libvirt');
