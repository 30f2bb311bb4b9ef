import { randomBytes } from 'node:crypto';
import { chmod, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { AgentConsole } from '../../../../host/libvirt/guest/agent-console.ts';
import { DEFAULT_NETWORKS } from '../../../../host/libvirt/network/network-plan.ts';
import { exec } from '../../../../host/os/exec.ts';
import { captureIdFrom, ID_BYTES, sandboxIdFrom } from '../../../../model/ids.ts';
import type { SavedCapture } from '../../../../model/snapshots/capture.ts';
import { killedAfter } from '../../../host/libvirt/killed-step.ts';
import { stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { eventually } from '../../../support/eventually.ts';
import { readableByNobody } from '../../../support/local-user.ts';
import { sweep } from '../../../support/sweep.ts';

const NAME = 'web 1';
const machine = useMachine();
beforeAll(startServer);

const newId = () => captureIdFrom(randomBytes(ID_BYTES));

/** Starts a server without Mayfly's preparation: the golden disk below a disk of its own, without a seed. */
async function startServer(): Promise<void> {
  const { virsh, source, state } = machine();
  const golden = await virsh.run(['dumpxml', `--domain=${source}`]);
  const base = /<source file='([^']+disk\.qcow2)'/.exec(golden)?.[1] ?? '';
  const disk = join(state.root, 'server.qcow2');
  await exec('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', base, disk]);
  const nic = `<interface type='network'><source network='${DEFAULT_NETWORKS.isolated.name}'/><model type='virtio'/></interface>`;
  const xml = golden
    .replace(/<name>.*<\/name>/, `<name>${NAME}</name>`)
    .replace(/<uuid>.*<\/uuid>/, '')
    .replace(base, disk)
    .replace('<devices>', `<devices>${nic}`);
  await virsh.define('define', xml);
  await virsh.run(['start', `--domain=${NAME}`]);
  await eventually(
    () => inGuest('true').catch(() => null),
    (answer) => answer !== null,
  );
}

async function inGuest(script: string): Promise<string> {
  const { exitCode, stdout, stderr } = await new AgentConsole(machine().virsh, NAME).run(['/bin/sh', '-c', script]);
  if (exitCode !== 0) throw new Error(`${script}: ${stderr}`);
  return stdout.trim();
}

async function capture(captureId = newId()): Promise<[string, SavedCapture]> {
  const { captures } = machine().host;
  await captures.begin({ captureId, source: NAME }, stepContext());
  await captures.wait(captureId, stepContext());
  return [captureId, await kept(captureId)];
}

async function kept(captureId: string): Promise<SavedCapture> {
  const { captures } = machine().host;
  const saved = await captures.verify(captureId, stepContext());
  await captures.keep(captureId);
  await captures.keep(captureId);
  expect(await captures.verify(captureId, stepContext())).toEqual(saved);
  return saved;
}

/** Returns the source's disks by libvirt and by their headers; without bitmaps, which captures may add. */
async function chainOfSource(): Promise<unknown[]> {
  const listed = await machine().virsh.run(['domblklist', `--domain=${NAME}`, '--details']);
  const disk = join(machine().state.root, 'server.qcow2');
  const { stdout } = await exec('qemu-img', ['info', '-U', '--backing-chain', '--output=json', disk]);
  const layers = (JSON.parse(stdout) as Record<string, unknown>[]).map((layer) => [
    layer['filename'],
    layer['backing-filename'],
    layer['virtual-size'],
  ]);
  return [listed, ...layers];
}

const frozen = () =>
  machine().virsh.run(['qemu-agent-command', `--domain=${NAME}`, '{"execute":"guest-fsfreeze-status"}']);
const checkpoints = async () =>
  (await machine().virsh.run(['checkpoint-list', `--domain=${NAME}`, '--name'])).split('\n').filter(Boolean).toSorted();
const folders = async () => (await readdir(machine().state.captures)).sort();

/** Appends a line, syncs it, and only then confirms it in a file in memory. */
const WRITER =
  'i=0; while :; do i=$((i+1)); echo line-$i >> /root/lines; sync /root/lines; echo $i >> /dev/shm/done; done';
const acknowledged = async () => Number(await inGuest('tail -n 1 /dev/shm/done'));

/** Returns the lines in a copy, read in user space, after a check that its file system is clean. */
async function linesIn(image: string): Promise<string[]> {
  const raw = join(machine().state.root, 'copy.raw');
  await exec('qemu-img', ['convert', '-O', 'raw', '--', image, raw], { timeoutMs: 120_000 });
  try {
    await exec('e2fsck', ['-fn', raw]);
    const { stdout } = await exec('debugfs', ['-R', 'cat /root/lines', raw]);
    return stdout.trim().split('\n');
  } finally {
    await rm(raw);
  }
}

test('a writing source is captured at one moment, then by its changes; clones have the captured data', async () => {
  const { host, state } = machine();
  const before = await chainOfSource();
  await inGuest(`setsid sh -c '${WRITER}' >/dev/null 2>&1 & sleep 1`);
  const had = await acknowledged();
  const began = performance.now();
  const [first, saved] = await capture();
  process.stderr.write(`full ${((performance.now() - began) / 1000).toFixed(1)} s, ${saved.sizeBytes} bytes\n`);
  expect(saved).toMatchObject({ quiesced: true, parentId: null, fullBecause: expect.stringContaining('no earlier') });
  expect(await frozen()).toContain('thawed');
  expect(await acknowledged()).toBeGreaterThan(had);
  expect(await chainOfSource()).toEqual(before);

  const [disk] = saved.disks;
  const image = join(state.capture(first), `${disk?.sha256}.qcow2`);
  expect(await folders()).toEqual([first]);
  expect((await readdir(state.capture(first))).sort()).toEqual(
    [`${disk?.sha256}.qcow2`, 'domain.xml', 'spec.json'].sort(),
  );
  expect((await exec('sha256sum', [image])).stdout.split(' ')[0]).toBe(disk?.sha256);
  const { mode, uid } = await stat(image);
  expect([mode & 0o777, uid]).toEqual([0o440, 0]);
  expect(await readableByNobody(machine().state.captures)).toEqual([]);
  const lines = await linesIn(image);
  expect(lines.length).toBeGreaterThanOrEqual(had);
  expect(lines).toEqual(lines.map((_, n) => `line-${n + 1}`));

  const more = await acknowledged();
  const again = performance.now();
  const [second, changes] = await capture();
  process.stderr.write(`changes ${((performance.now() - again) / 1000).toFixed(1)} s, ${changes.sizeBytes} bytes\n`);
  expect(changes).toMatchObject({ quiesced: true, parentId: first, fullBecause: null });
  expect(changes.sizeBytes).toBeLessThan(saved.sizeBytes / 10);
  expect(await chainOfSource()).toEqual(before);
  const later = join(state.capture(second), `${changes.disks[0]?.sha256}.qcow2`);
  expect((await linesIn(later)).length).toBeGreaterThanOrEqual(more);
  await expect(host.captures.remove(first)).rejects.toMatchObject({
    code: 'capture_in_use',
    message: expect.stringContaining(`capture ${second}`),
  });

  const sandboxId = sandboxIdFrom(randomBytes(ID_BYTES));
  const request = { sandboxId, source: NAME, snapshotId: null, captureId: second, cpus: null, memoryMib: null };
  const clone = await host.cloneDisk(
    { ...request, egress: 'none', userCaKeys: [machine().ca.publicKey] },
    stepContext(),
  );
  await expect(host.captures.remove(second)).rejects.toMatchObject({
    code: 'capture_in_use',
    message: expect.stringContaining(`sandbox ${sandboxId}`),
  });
  await machine().virsh.run(['suspend', `--domain=${NAME}`]); // one machine at a time on this processor
  await host.bootDomain(sandboxId, stepContext());
  const { address } = await host.awaitLease(sandboxId, stepContext());
  const { stdout } = await machine().ca.ssh(address, clone.hostKey, sandboxId, 'hostname; sudo tail -n 1 /root/lines');
  const [hostname, last = ''] = stdout.trim().split('\n');
  expect(hostname).toBe(sandboxId);
  expect(Number(last.replace('line-', ''))).toBeGreaterThanOrEqual(more);
  await host.removeDomain(sandboxId);
  await host.releaseLease(sandboxId);
  await host.removeWorkspace(sandboxId);
  await machine().virsh.run(['resume', `--domain=${NAME}`]);

  await chmod(later, 0o644);
  await exec('sh', ['-c', 'printf x | dd of="$1" bs=1 seek=300000 conv=notrunc status=none', 'sh', later]);
  await expect(host.cloneDisk({ ...request, egress: 'none', userCaKeys: [] }, stepContext())).rejects.toMatchObject({
    code: 'source_changed',
  });
  await host.removeWorkspace(sandboxId);
  expect(await checkpoints()).toEqual([first, second].toSorted());
  for (const id of [second, first, first]) await host.captures.remove(id);
  expect(await folders()).toEqual([]);
  expect(await checkpoints()).toEqual([]);
  expect(await chainOfSource()).toEqual(before);
}, 900_000);

describe('a worker that is killed at the start of a capture leaves nothing frozen, and the capture can be', () => {
  let before: unknown[];
  let parent: string;

  beforeAll(async () => {
    before = await chainOfSource();
    [parent] = await capture();
  });

  sweep([250, 50, 450, 700])('continued, or undone: after %s ms', async (ms) => {
    const { captures } = machine().host;
    const id = newId();
    await killedAfter(machine(), ms, 'beginCapture', id, NAME);
    const [, saved] = await capture(id);
    expect(saved).toMatchObject({ quiesced: true, parentId: parent });
    expect(await frozen()).toContain('thawed');
    await captures.remove(id);

    const undone = newId();
    await killedAfter(machine(), ms, 'beginCapture', undone, NAME);
    await captures.thaw(undone);
    expect(await frozen()).toContain('thawed');
    await captures.abort(undone);
    await captures.remove(undone);
    expect(await folders()).toEqual([parent]);
    expect(await checkpoints()).toEqual([parent]);
  });

  test('deleted, with the disks of the source unchanged', async () => {
    expect(await chainOfSource()).toEqual(before);
    await machine().host.captures.remove(parent);
    expect(await folders()).toEqual([]);
  });
});

/** Starts a copy that libvirt aborts, and repeats it if the copy was complete by then. @returns its id */
async function abortedCopy(): Promise<string> {
  const { host, virsh } = machine();
  for (;;) {
    const captureId = newId();
    await host.captures.begin({ captureId, source: NAME }, stepContext());
    try {
      await virsh.run(['domjobabort', `--domain=${NAME}`]);
      return captureId;
    } catch (error) {
      expect(error).toMatchObject({ message: expect.stringContaining('no job is active') });
    }
    await host.captures.abort(captureId);
    await host.captures.remove(captureId);
  }
}

test('an aborted copy makes no capture; a delete while the source is off completes when it runs again', async () => {
  const { host, virsh, state } = machine();
  const before = await chainOfSource();
  const ended = await abortedCopy();
  await expect(host.captures.wait(ended, stepContext())).rejects.toMatchObject({
    code: 'capture_failed',
    message: expect.stringContaining('cancelled'),
  });
  await expect(host.captures.keep(ended)).rejects.toMatchObject({ code: 'capture_failed' });
  await host.captures.remove(ended);
  expect([await folders(), await checkpoints()]).toEqual([[], []]);

  const [first] = await capture();
  await inGuest('systemctl stop qemu-guest-agent').catch(() => undefined);
  const [second, unfrozen] = await capture();
  expect(unfrozen).toMatchObject({ quiesced: false, parentId: first });
  await virsh.run(['destroy', `--domain=${NAME}`]);
  await expect(host.captures.begin({ captureId: newId(), source: NAME }, stepContext())).rejects.toMatchObject({
    code: 'source_not_running',
  });
  await host.captures.remove(second);
  expect(await folders()).toEqual([first, `${second}.checkpoint`].sort());
  await host.power.start({ sourceId: '', source: NAME, answersMs: 0 }, stepContext());
  const [third, saved] = await capture();
  expect(saved).toMatchObject({ parentId: first, fullBecause: null });
  expect(await checkpoints()).toEqual([first, third].toSorted());
  expect(await folders()).toEqual([first, third].sort());

  await virsh.run(['checkpoint-delete', `--domain=${NAME}`, third]);
  const [fourth, full] = await capture();
  expect(full).toMatchObject({ parentId: null, fullBecause: `${third} has no checkpoint` });
  for (const id of [fourth, third, first]) await host.captures.remove(id);
  expect([await folders(), await checkpoints()]).toEqual([[], []]);
  expect(await chainOfSource()).toEqual(before);
  expect((await readdir(state.root)).filter((name) => name.includes('cap-'))).toEqual([]);

  await host.power.stop({ sourceId: '', source: NAME, force: false, withinMs: 180_000 }, stepContext());
  expect(await virsh.run(['domstate', `--domain=${NAME}`])).toContain('shut off');
}, 400_000);
