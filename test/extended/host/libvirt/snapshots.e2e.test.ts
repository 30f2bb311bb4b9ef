import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exec } from '../../../../host/os/exec.ts';
import { expectRightTime, LivingGuest, newSnapshotId, stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { readableByNobody } from '../../../support/local-user.ts';
import { letTimePass } from '../../../support/passage-of-time.ts';

const machine = useMachine();

/** Starts a sandbox, and logs in to it. */
const start = (snapshotId: string | null = null, source = machine().source) =>
  LivingGuest.start(machine(), snapshotId, source);

/** Lists the images in a workspace. */
async function layersOf({ id }: LivingGuest): Promise<string[]> {
  return (await readdir(machine().state.workspace(id))).filter((name) => name.includes('.qcow2'));
}

/** Defines the golden machine with two more disks, one of them read-only. */
async function defineManyDisks(): Promise<string> {
  const { virsh, state, source } = machine();
  const paths = ['data', 'read-only'].map((name) => join(state.images, `${name}.raw`));
  const disks = paths.map((path, n) => {
    const target = `<target dev='vd${n === 0 ? 'b' : 'c'}' bus='virtio'/>${n === 0 ? '' : '<readonly/>'}`;
    return `<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='${path}'/>${target}</disk>`;
  });
  for (const path of paths) await writeFile(path, 'as it came'.padEnd(1024 * 1024, '\n'));
  const golden = await virsh.run(['dumpxml', source]);
  const named = golden.replace(/<name>.*?<\/name>/, '<name>many</name>').replace(/<uuid>.*?<\/uuid>/, '');
  await virsh.define('define', named.replace('</devices>', `${disks.join('')}</devices>`));
  return 'many';
}

const snapshotsLeft = async () => await readdir(machine().state.snapshots);
/** Drops the guest's caches, so that later reads come from the disks. */
const FROM_DISK = 'echo 3 | sudo tee /proc/sys/vm/drop_caches >/dev/null';
const IDENTITY = 'hostname; cat /etc/machine-id; cat /sys/class/net/[!l]*/address';

test('a snapshot has unsynced earlier writes, and no later ones; forks, restores and deletes work in any order', {
  timeout: 900_000,
}, async () => {
  const { host, state } = machine();
  const guest = await start(null, await defineManyDisks());
  const toDisk = (text: string) => `printf ${text} | sudo dd of=/dev/vdb bs=512 conv=sync,fsync status=none`;
  const files = 'echo first > first; sudo mkdir /srv/d; echo x | sudo tee /srv/d/f >/dev/null; sudo rm /etc/motd; true';
  await guest.run(`${toDisk('block-1')}; ${files}`);
  const began = performance.now();
  const [first, saved] = await guest.save();
  process.stderr.write(`snapshot ${(performance.now() - began).toFixed(0)} ms\n`);
  expect(saved).toMatchObject({ kind: 'disk', quiesced: true, disks: [{ target: 'vda' }, { target: 'vdb' }] });
  expect(saved.disks[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(saved.sizeBytes).toBeGreaterThan(1_000_000);
  expect(await guest.save(first)).toEqual([first, saved]);
  const layer = await stat(join(state.snapshot(first), 'vda.qcow2'));
  expect([layer.uid, layer.mode & 0o777, layer.nlink]).toEqual([0, 0o440, 1]);
  expect(await readableByNobody(state.root)).toEqual([]);
  expect(await layersOf(guest)).toEqual(['disk-vdc.qcow2', `vda.${first}.qcow2`, `vdb.${first}.qcow2`]);

  await guest.run(`echo second > second; rm first; ${toDisk('block-2')}`);
  const [second, savedSecond] = await guest.save();
  expect(savedSecond.quiesced).toBe(true);
  const own = await guest.run(`echo third > third; ${IDENTITY}`);

  const fork = await start(first);
  const found = 'cat first /srv/d/f; ls second third /etc/motd 2>/dev/null | wc -l; sudo head -c 7 /dev/vdb';
  expect(await fork.run(`${found}; sudo head -c 10 /dev/vdc`)).toBe('first\nx\n0\nblock-1as it came');
  await expect(fork.run('sudo dd if=/dev/zero of=/dev/vdc count=1 oflag=direct')).rejects.toThrow(/not permitted/);
  const theirs = await fork.run(IDENTITY);
  expect(theirs.split('\n')[0]).toBe(fork.id);
  expect(theirs.split('\n').filter((line) => own.includes(line))).toEqual([]);

  const restoreId = 'restore-1';
  await expect(
    host.snapshots.revert({ sandboxId: guest.id, snapshotId: second, restoreId }, stepContext()),
  ).rejects.toMatchObject({ code: 'restore_failed' });
  const [before] = await guest.save(newSnapshotId(), 'full');
  await guest.off();
  for (let twice = 0; twice < 2; twice++) {
    await host.snapshots.revert({ sandboxId: guest.id, snapshotId: second, restoreId }, stepContext());
  }
  expect(await layersOf(guest)).toEqual(['disk-vdc.qcow2', `vda.${restoreId}.qcow2`, `vdb.${restoreId}.qcow2`]);
  await guest.boot();
  const restored = 'cat second; ls first third 2>/dev/null | wc -l; sudo head -c 7 /dev/vdb; echo';
  expect(await guest.run(`${restored}; ${IDENTITY}`)).toBe(`second\n0\nblock-2\n${own}`);

  // another restore undoes the first, with the safety snapshot
  await guest.off();
  await host.snapshots.revert({ sandboxId: guest.id, snapshotId: before, restoreId: 'restore-2' }, stepContext());
  await guest.boot();
  expect(await guest.run(`${FROM_DISK}; cat second third`)).toBe('second\nthird');

  expect((await host.snapshots.remove(first)).keptFor).toContain(`sandbox ${fork.id}`);
  await expect(start(first)).rejects.toMatchObject({ code: 'snapshot_not_found' });
  expect((await host.snapshots.remove(second)).keptFor).toContain(`sandbox ${guest.id}`);
  await fork.remove();
  expect(await guest.run(`sync; ${FROM_DISK}; cat second third`)).toBe('second\nthird');
  expect((await host.snapshots.list()).map((kept) => kept.state).sort()).toEqual(['kept', 'kept', 'whole']);
  await guest.remove();
  expect(await host.snapshots.list()).toHaveLength(3); // `before` refers to the others

  const last = await start(before);
  expect(await last.run(`${FROM_DISK}; cat second third`)).toBe('second\nthird');
  await last.remove();
  expect(await host.snapshots.remove(before)).toEqual({ keptFor: null });
  expect(await host.snapshots.remove(before)).toEqual({ keptFor: null });
  expect(await snapshotsLeft()).toEqual([]);
});

test('a paused sandbox keeps its memory, is saved as it is, and continues with the right time', async () => {
  const { host } = machine();
  const guest = await LivingGuest.wake(machine());
  await guest.run('echo kept > /dev/shm/memory');
  for (let twice = 0; twice < 2; twice++) await host.pause(guest.id);
  expect((await host.whereabouts(guest.id)).domain).toBe('paused');
  const [snapshotId, saved] = await guest.save();
  expect(saved.quiesced).toBe(false);
  await host.snapshots.thaw(guest.id);
  await letTimePass(5_000);
  for (let twice = 0; twice < 2; twice++) await host.resume(guest.id);
  expect((await host.whereabouts(guest.id)).domain).toBe('running');
  const askedAt = Date.now();
  const [memory, seconds] = (await guest.run('cat /dev/shm/memory; date +%s')).split('\n');
  expect(memory).toBe('kept');
  expectRightTime(seconds, askedAt);
  await guest.remove();
  await expect(host.pause(guest.id)).rejects.toMatchObject({ code: 'sandbox_not_running' });
  await expect(host.resume(guest.id)).rejects.toMatchObject({ code: 'sandbox_not_running' });
  await expect(guest.save()).rejects.toMatchObject({ code: 'sandbox_not_running' });
  await host.snapshots.remove(snapshotId);
  expect(await snapshotsLeft()).toEqual([]);
});

test('a guest without an agent is saved unquiesced, with its writes as after a power cut', async () => {
  const guest = await LivingGuest.wake(machine());
  await guest.run('echo synced > synced; sync; sudo systemctl stop qemu-guest-agent');
  const [snapshotId, saved] = await guest.save();
  expect(saved.quiesced).toBe(false);
  const fork = await start(snapshotId);
  expect(await fork.run('cat synced')).toBe('synced');
  await fork.remove();
  await guest.remove();
  await machine().host.snapshots.remove(snapshotId);
  const { stdout } = await exec('ls', ['-A', machine().state.sandboxes]);
  expect([stdout, await snapshotsLeft()]).toEqual(['', []]);
});
