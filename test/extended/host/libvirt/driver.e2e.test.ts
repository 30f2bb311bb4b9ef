import { randomBytes } from 'node:crypto';
import { stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { portName } from '../../../../host/libvirt/network/ports.ts';
import { exec } from '../../../../host/os/exec.ts';
import type { StepContext } from '../../../../host/step-context.ts';
import { ID_BYTES, macAddress, sandboxIdFrom } from '../../../../model/ids.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { readableByNobody } from '../../../support/local-user.ts';

const machine = useMachine();

const context = (ms = 120_000): StepContext => ({ signal: AbortSignal.timeout(ms), alive: () => {} });
const newId = () => sandboxIdFrom(randomBytes(ID_BYTES));
const request = (sandboxId: string) => ({
  sandboxId,
  source: machine().source,
  snapshotId: null,
  cpus: null,
  memoryMib: null,
  egress: 'none' as const,
  userCaKeys: [machine().ca.publicKey],
});

async function remove(id: string): Promise<boolean[]> {
  await machine().host.removeDomain(id);
  await machine().host.releaseLease(id);
  await machine().host.removeWorkspace(id);
  return (await machine().host.look(id)).map((seen) => seen.absent);
}

test('a clone gets its own lease, host key and principal, cannot reach the host, and leaves no residue', async () => {
  const { host } = machine();
  const id = newId();
  const began = performance.now();
  const clone = await host.cloneDisk(request(id), context());
  expect(await host.cloneDisk(request(id), context())).toEqual(clone);
  expect(await host.whereabouts(id)).toEqual({ domain: 'absent', lease: null });
  await host.bootDomain(id, context());
  const hostSide = performance.now() - began;
  await host.bootDomain(id, context());
  const lease = await host.awaitLease(id, context());
  expect(lease.macAddress).toBe(macAddress(id));

  expect(await portsBeside(portName(lease.macAddress))).toEqual([true, true]);
  await host.open(); // a restarted worker disconnects no guest
  const { stdout } = await machine().ca.ssh(lease.address, clone.hostKey, id, 'hostname; id -un; sudo id -u');
  expect(stdout.split('\n').slice(0, 3)).toEqual([id, 'sandbox', '0']);
  await expect(machine().ca.ssh(lease.address, clone.hostKey, newId(), 'true')).rejects.toThrow(/Permission denied/);
  const gateway = '10.213.0.1';
  await expect(
    machine().ca.ssh(lease.address, clone.hostKey, id, `timeout 3 bash -c 'echo > /dev/tcp/${gateway}/22'`),
  ).rejects.toMatchObject({ exitCode: 124 });

  expect(await host.residentMib(id)).toBeGreaterThan(64);
  expect((await host.residentMibOfAll()).get(id)).toBeGreaterThan(64);
  expect(await host.diskBytes(id)).toBeGreaterThan(100_000);
  const marks = (await host.marks()).filter((mark) => mark.sandboxId === id);
  expect(marks.map((mark) => mark.observation.layer)).toEqual(['domain', 'lease', 'workspace']);

  const ending = performance.now();
  expect(await remove(id)).toEqual([true, true, true]);
  const destroy = performance.now() - ending;
  expect(await remove(id)).toEqual([true, true, true]);
  expect(await host.marks()).toEqual([]);
  expect(await portsBeside(portName(lease.macAddress))).toEqual([false, false]);
  process.stderr.write(`host side of create ${hostSide.toFixed(0)} ms, destroy ${destroy.toFixed(0)} ms\n`);
});

test('the source keeps its owner and cannot be written while it has clones', async () => {
  const { host, virsh } = machine();
  const id = newId();
  await host.cloneDisk(request(id), context());
  await host.bootDomain(id, context());
  const { stdout } = await exec('qemu-img', ['info', '--force-share', '--output=json', overlayOf(id)]);
  const info: { 'full-backing-filename': string } = JSON.parse(stdout);
  const base = await stat(info['full-backing-filename']);
  expect([base.uid, base.mode & 0o777]).toEqual([0, 0o440]);
  for (const folder of [machine().state.root, machine().libvirtFolder])
    expect(await readableByNobody(folder)).toEqual([]);
  expect(await virsh.run(['domstate', id])).toContain('running');
  expect(await remove(id)).toEqual([true, true, true]);
  expect((await stat(info['full-backing-filename'])).uid).toBe(0);
});

test('a domain that ends during the wait for its lease is noticed', async () => {
  const { host, virsh } = machine();
  const id = newId();
  await host.cloneDisk(request(id), context());
  await host.bootDomain(id, context());
  const waiting = host.awaitLease(id, context());
  const ended = expect(waiting).rejects.toMatchObject({ code: 'boot_failed' });
  await virsh.run(['destroy', id]);
  await ended;
  expect(await remove(id)).toEqual([true, true, true]);
});

test('a wait for a lease ends with the reason of its signal', async () => {
  const id = newId();
  await machine().host.cloneDisk(request(id), context());
  await machine().host.bootDomain(id, context());
  const stop = new AbortController();
  const waiting = machine().host.awaitLease(id, { signal: stop.signal, alive: () => stop.abort(new Error('enough')) });
  await expect(waiting).rejects.toThrow('enough');
  expect(await remove(id)).toEqual([true, true, true]);
});

test('a running source is not cloned, a referenced one not started; an unknown one is not found', async () => {
  const { host, virsh, state } = machine();
  const id = newId();
  const missing = { ...request(id), source: 'nowhere' };
  await expect(host.cloneDisk(missing, context())).rejects.toMatchObject({ code: 'source_not_found' });
  const disk = join(state.root, 'busy.qcow2');
  await exec('qemu-img', ['create', '-q', '-f', 'qcow2', disk, '64M']);
  await virsh.define('define', bare('busy', disk));
  expect(await host.source('busy')).toMatchObject({ cloneable: true, memoryMib: 64, diskBytes: 64 * 1024 * 1024 });
  const started = () => host.power.start({ sourceId: '', source: 'busy', answersMs: 0 }, context());
  for (let twice = 0; twice < 2; twice++) expect(await started()).toEqual({ guestAnswers: null });
  await expect(host.cloneDisk({ ...request(id), source: 'busy' }, context())).rejects.toMatchObject({
    code: 'source_running',
  });
  const listed = (await host.sources()).map(({ name, cloneable }) => [name, cloneable]);
  expect(listed).toEqual(
    expect.arrayContaining([
      ['busy', false],
      [machine().source, true],
    ]),
  );
  const stopped = (force: boolean) =>
    host.power.stop({ sourceId: '', source: 'busy', force, withinMs: 300 }, context());
  await expect(stopped(false)).rejects.toMatchObject({ code: 'source_stop_failed' }); // it has no system
  for (const force of [true, true, false]) await stopped(force);

  const refused = (user: string) =>
    expect(started()).rejects.toMatchObject({ code: 'source_in_use', message: expect.stringContaining(user) });
  await host.cloneDisk({ ...request(id), source: 'busy' }, context());
  await refused(`sandbox ${id}`);
  expect((await stat(disk)).mode & 0o777).toBe(0o440);
  expect(await remove(id)).toEqual([true, true, true]);
  const another = join(state.root, 'another.qcow2');
  const link = join(state.root, 'link.qcow2');
  await symlink(disk, link);
  await exec('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', link, another]);
  for (const file of [another, link]) {
    await virsh.define('define', bare('another', file));
    await refused('the domain "another"');
    await virsh.run(['undefine', 'another']);
  }
  const starting: Promise<unknown>[] = [];
  const alive = () => void starting.push(started().catch((error: unknown) => error));
  await host.cloneDisk({ ...request(id), source: 'busy' }, { ...context(), alive });
  expect(await starting[0]).toMatchObject({ code: 'source_in_use' });
  expect(await remove(id)).toEqual([true, true, true]);
  expect(await started()).toEqual({ guestAnswers: null });
  await stopped(true);
  await virsh.run(['undefine', 'busy']);
  await virsh.define('define', bare('golden', (await goldenDisk()) ?? ''));
  await expect(host.power.start({ sourceId: '', source: 'golden', answersMs: 0 }, context())).rejects.toMatchObject({
    code: 'source_read_only',
  });
  await virsh.run(['undefine', 'golden']);
});

/** Reports whether a port is plugged in, and whether the rules contain it. */
async function portsBeside(name: string): Promise<boolean[]> {
  const { stdout: plugged } = await exec('ip', ['-brief', 'link', 'show', 'master', 'mayfly0']);
  const { stdout: rules } = await exec('nft', ['list', 'set', 'bridge', 'mayfly_mayfly0', 'ports']);
  return [plugged, rules].map((text) => text.includes(name));
}

/** Returns the domain of a machine without a system on a disk. */
function bare(name: string, disk: string): string {
  return `<domain type='qemu'><name>${name}</name><memory unit='MiB'>64</memory><os><type machine='q35'>hvm</type></os><devices>
      <disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='${disk}'/><target dev='vda' bus='virtio'/></disk>
    </devices></domain>`;
}

async function goldenDisk(): Promise<string | undefined> {
  const xml = await machine().virsh.run(['dumpxml', `--domain=${machine().source}`]);
  return /<source file='([^']+disk\.qcow2)'/.exec(xml)?.[1];
}

function overlayOf(id: string): string {
  return join(machine().state.workspace(id), 'disk.qcow2');
}
