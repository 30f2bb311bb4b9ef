import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect } from 'vitest';
import { QemuMonitor } from '../../../../host/libvirt/client/qemu-monitor.ts';
import { OrphanedSwitches } from '../../../../host/libvirt/layers/orphaned-switches.ts';
import { Workspace } from '../../../../host/libvirt/layers/workspace.ts';
import { exec } from '../../../../host/os/exec.ts';
import { LivingGuest, newSnapshotId } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { sweep } from '../../../support/sweep.ts';

const machine = useMachine();
let monitor: QemuMonitor;
beforeAll(() => {
  monitor = new QemuMonitor(machine().virsh);
});

/** Opens a file in QEMU as libvirt does, without libvirt's knowledge. */
async function open({ id }: LivingGuest, file: string): Promise<void> {
  const lower = { 'node-name': 'unseen-storage', driver: 'file', filename: file };
  await monitor.execute(id, 'blockdev-add', lower);
  const upper = { 'node-name': 'unseen-format', driver: 'qcow2', file: 'unseen-storage', backing: null };
  await monitor.execute(id, 'blockdev-add', upper);
}

/** Switches the disk as a libvirtd that is killed just before it records the switch. */
async function moveUnseen(guest: LivingGuest, from: string, overlay: string): Promise<void> {
  await open(guest, overlay);
  const node = await monitor.driveNode(guest.id, from);
  await monitor.execute(guest.id, 'blockdev-snapshot', { node, overlay: 'unseen-format' });
}

async function overlayOver(guest: LivingGuest, base: string): Promise<string> {
  const path = new Workspace(machine().state, guest.id).overlayOf('vda', 'unseen');
  await exec('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', base, path]);
  await exec('chown', ['--reference', base, path]);
  return path;
}

async function activeFile({ id }: LivingGuest): Promise<string> {
  return /vda\s+(\S+)/.exec(await machine().virsh.run(['domblklist', id]))?.[1] ?? '';
}

const write = (name: string) => `dd if=/dev/urandom of=${name} bs=1M count=8 conv=fsync status=none; sha256sum ${name}`;
const readAgain = (name: string) => `echo 3 | sudo tee /proc/sys/vm/drop_caches >/dev/null; sha256sum ${name}`;

async function takenBackFromAnyPoint(): Promise<void> {
  const guest = await LivingGuest.wake(machine());
  const known = await activeFile(guest);
  const before = await guest.run(write('before'));
  const switched = async () => [{ target: 'vda', frozen: known, overlay: await overlayOver(guest, known) }];
  const lost = new OrphanedSwitches(machine().virsh, monitor);

  const opened = await switched();
  await open(guest, opened[0]?.overlay ?? '');
  await lost.takeBack(guest.id, opened);

  const moved = await switched();
  await moveUnseen(guest, known, moved[0]?.overlay ?? '');
  const since = await guest.run(write('since'));
  await lost.takeBack(guest.id, moved);
  await lost.takeBack(guest.id, moved);

  const again = await switched();
  await moveUnseen(guest, known, again[0]?.overlay ?? '');
  const last = await guest.run(write('last'));
  const job = { 'job-id': 'mayfly-vda', device: 'unseen-format', 'base-node': await knownNode(guest) };
  await monitor.execute(guest.id, 'block-commit', job);
  await lost.takeBack(guest.id, again);

  expect(await monitor.driveNode(guest.id, known)).not.toBeNull();
  expect((await monitor.nodes(guest.id)).filter(({ name }) => name.startsWith('unseen'))).toEqual([]);
  expect((await readdir(new Workspace(machine().state, guest.id).folder)).filter((n) => n.includes('unseen'))).toEqual(
    [],
  );
  const sums = [before, since, last].join('\n');
  expect(await guest.run(readAgain('before since last'))).toBe(sums);

  const [snapshotId] = await guest.save(newSnapshotId(), 'full');
  const fork = await LivingGuest.start(machine(), snapshotId);
  expect(await fork.run(readAgain('before since last'))).toBe(sums);
  await fork.remove();
  await guest.remove();
  await machine().host.snapshots.remove(snapshotId);
}

async function lostBySave(end: 'saved again' | 'taken back'): Promise<void> {
  const { host, state, virsh } = machine();
  const guest = await LivingGuest.wake(machine());
  const snapshotId = newSnapshotId();
  await guest.run(write('before'));
  // libvirt saves no disk during a copy, so all is prepared and nothing switched
  const copy = join(state.workspace(guest.id), 'copy');
  await virsh.run(['blockcopy', guest.id, 'vda', copy, '--transient-job']);
  await expect(guest.save(snapshotId)).rejects.toMatchObject({ code: 'snapshot_failed' });
  await virsh.run(['blockjob', guest.id, 'vda', '--abort']);
  const overlay = new Workspace(state, guest.id).overlayOf('vda', snapshotId);
  const known = await activeFile(guest);
  await exec('chown', ['--reference', known, overlay]);
  await moveUnseen(guest, known, overlay);
  const since = await guest.run(write('since'));

  if (end === 'taken back') {
    await host.snapshots.remove(snapshotId);
    expect(await readdir(state.snapshots)).toEqual([]);
    expect(await activeFile(guest)).toBe(known);
  } else {
    await guest.save(snapshotId);
    expect(await activeFile(guest)).toBe(overlay);
  }
  expect(await guest.run(readAgain('since'))).toBe(since);
  const [last] = await guest.save(newSnapshotId(), 'full');
  const fork = await LivingGuest.start(machine(), last);
  expect(await fork.run(readAgain('since'))).toBe(since);
  await fork.remove();
  await guest.remove();
  for (const id of [last, snapshotId]) await host.snapshots.remove(id);
  expect(await readdir(state.snapshots)).toEqual([]);
}

async function knownNode({ id }: LivingGuest): Promise<string> {
  const index = /index='(\d+)'/.exec(await machine().virsh.run(['dumpxml', id]))?.[1] ?? '';
  return `libvirt-${index}-format`;
}

sweep(['taken back from any point', 'of a save that is repeated', 'of a save that is taken back'])(
  'a switch that libvirt does not know of, %s, loses no write since then',
  async (how) => {
    if (how === 'taken back from any point') await takenBackFromAnyPoint();
    else await lostBySave(how === 'of a save that is repeated' ? 'saved again' : 'taken back');
  },
);
