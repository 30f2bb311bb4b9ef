import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { exec } from '../../../host/exec.ts';
import { killLibvirtd } from './killed-libvirtd.ts';
import { beginStep, killedAfter } from './killed-step.ts';
import { LivingGuest, newSnapshotId, stepContext } from './living-guest.ts';
import { useMachine } from './machine.ts';

const machine = useMachine();

/** A sandbox that has been logged in to. */
const start = (snapshotId: string | null = null, source = machine().source) =>
  LivingGuest.start(machine(), snapshotId, source);

/** The images in its workspace. */
async function layersOf({ id }: LivingGuest): Promise<string[]> {
  return (await readdir(machine().state.workspace(id))).filter((name) => name.includes('.qcow2'));
}

/** The golden machine with two more disks, of which one is read-only. */
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
const IDENTITY = 'hostname; cat /etc/machine-id; cat /sys/class/net/[!l]*/address';

test('what was written without sync is in a snapshot, what came later is not; forks, restores and deletes in any order', async () => {
  const { host, state } = machine();
  const guest = await start(null, await defineManyDisks());
  const toDisk = (text: string) => `printf ${text} | sudo dd of=/dev/vdb bs=512 conv=sync,fsync status=none`;
  await guest.run(toDisk('block-1'));
  await guest.run(
    'echo first > first; sudo mkdir /srv/d; echo x | sudo tee /srv/d/f >/dev/null; sudo rm /etc/motd; true',
  );
  const began = performance.now();
  const [first, saved] = await guest.save();
  process.stderr.write(`snapshot ${(performance.now() - began).toFixed(0)} ms\n`);
  expect(saved).toMatchObject({ kind: 'disk', quiesced: true, disks: [{ target: 'vda' }, { target: 'vdb' }] });
  expect(saved.disks[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(saved.sizeBytes).toBeGreaterThan(1_000_000);
  expect(await guest.save(first)).toEqual([first, saved]);
  const layer = await stat(join(state.snapshot(first), 'vda.qcow2'));
  expect([layer.uid, layer.mode & 0o777, layer.nlink]).toEqual([0, 0o444, 1]);
  expect(await layersOf(guest)).toEqual(['disk-vdc.qcow2', `vda.${first}.qcow2`, `vdb.${first}.qcow2`]);

  await guest.run(`echo second > second; rm first; ${toDisk('block-2')}`);
  const [second, savedSecond] = await guest.save();
  expect(savedSecond.quiesced).toBe(true);
  await guest.run('echo third > third');
  const own = await guest.run(IDENTITY);

  const fork = await start(first);
  expect(await fork.run('cat first /srv/d/f; ls second third /etc/motd 2>/dev/null | wc -l')).toBe('first\nx\n0');
  expect(await fork.run('sudo head -c 7 /dev/vdb; sudo head -c 10 /dev/vdc')).toBe('block-1as it came');
  await expect(fork.run('sudo dd if=/dev/zero of=/dev/vdc count=1 oflag=direct')).rejects.toThrow(/not permitted/);
  const theirs = await fork.run(IDENTITY);
  expect(theirs.split('\n')[0]).toBe(fork.id);
  expect(theirs.split('\n').filter((line) => own.includes(line))).toEqual([]);

  const restoreId = 'restore-1';
  await expect(
    host.snapshots.revert({ sandboxId: guest.id, snapshotId: second, restoreId }, stepContext()),
  ).rejects.toMatchObject({ code: 'restore_failed' });
  const [before] = await guest.save();
  await guest.off();
  for (let twice = 0; twice < 2; twice++) {
    await host.snapshots.revert({ sandboxId: guest.id, snapshotId: second, restoreId }, stepContext());
  }
  expect(await layersOf(guest)).toEqual(['disk-vdc.qcow2', `vda.${restoreId}.qcow2`, `vdb.${restoreId}.qcow2`]);
  await guest.boot();
  expect(await guest.run('cat second; ls first third 2>/dev/null | wc -l')).toBe('second\n0');
  expect(await guest.run('sudo head -c 7 /dev/vdb')).toBe('block-2');
  expect(await guest.run(IDENTITY)).toBe(own);

  // a restore is undone by another, to what was kept
  await guest.off();
  await host.snapshots.revert({ sandboxId: guest.id, snapshotId: before, restoreId: 'restore-2' }, stepContext());
  await guest.boot();
  expect(await guest.run('cat second third')).toBe('second\nthird');

  expect((await host.snapshots.remove(first)).keptFor).toContain(`sandbox ${fork.id}`);
  await expect(start(first)).rejects.toMatchObject({ code: 'snapshot_not_found' });
  expect((await host.snapshots.remove(second)).keptFor).toContain(`sandbox ${guest.id}`);
  await fork.remove();
  expect(await guest.run('cat second third; sync; echo 3 | sudo tee /proc/sys/vm/drop_caches')).toContain('third');
  expect((await host.snapshots.list()).map((kept) => kept.state).sort()).toEqual(['kept', 'kept', 'whole']);
  await guest.remove();
  expect(await host.snapshots.list()).toHaveLength(3); // `before` leans on the others

  const last = await start(before);
  expect(await last.run('cat second third')).toBe('second\nthird');
  await last.remove();
  expect(await host.snapshots.remove(before)).toEqual({ keptFor: null });
  expect(await host.snapshots.remove(before)).toEqual({ keptFor: null });
  expect(await snapshotsLeft()).toEqual([]);
}, 900_000);

test('paused, a sandbox keeps its memory, is saved as it is, and goes on with the right time', async () => {
  const { host } = machine();
  const guest = await start();
  await guest.run('echo kept > /dev/shm/memory');
  for (let twice = 0; twice < 2; twice++) await host.pause(guest.id);
  expect((await host.whereabouts(guest.id)).domain).toBe('paused');
  const [snapshotId, saved] = await guest.save();
  expect(saved.quiesced).toBe(false);
  await host.snapshots.thaw(guest.id);
  await delay(5_000); // time that passes without the guest is what is looked for
  for (let twice = 0; twice < 2; twice++) await host.resume(guest.id);
  expect((await host.whereabouts(guest.id)).domain).toBe('running');
  const [memory, seconds] = (await guest.run('cat /dev/shm/memory; date +%s')).split('\n');
  expect(memory).toBe('kept');
  expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(3);
  await guest.remove();
  await expect(host.pause(guest.id)).rejects.toMatchObject({ code: 'sandbox_not_running' });
  await expect(host.resume(guest.id)).rejects.toMatchObject({ code: 'sandbox_not_running' });
  await expect(guest.save()).rejects.toMatchObject({ code: 'sandbox_not_running' });
  await host.snapshots.remove(snapshotId);
  expect(await snapshotsLeft()).toEqual([]);
}, 600_000);

test('killed anywhere in a save, it is repeated or taken back: nothing is lost, frozen, or left', async () => {
  const { host } = machine();
  const guest = await start();
  const kept: string[] = [];
  let lines = 0;
  for (const [nth, ms] of [0, 30, 60, 90, 120, 150, 200, 250, 300, 400].entries()) {
    lines++;
    await guest.run('echo line >> lines; dd if=/dev/zero of=bulk bs=1M count=32 status=none');
    const snapshotId = newSnapshotId();
    await killedAfter(machine(), ms, 'save', guest.id, snapshotId);
    if (nth % 2 === 0) {
      await guest.save(snapshotId);
      kept.push(snapshotId);
    } else {
      await host.snapshots.thaw(guest.id);
      await host.snapshots.remove(snapshotId);
    }
    expect(await guest.run('timeout 10 sync && wc -l < lines')).toBe(String(lines));
    expect(await layersOf(guest)).toHaveLength(1);
    expect((await host.snapshots.list()).filter(({ state }) => state === 'half')).toEqual([]);
  }
  const fork = await start(kept[2] ?? '');
  expect(await fork.run('wc -l < lines')).toBe('5');
  await fork.remove();
  // the chain that libvirt has been told of has names that are gone: a daemon that begins anew must not mind
  await machine().libvirtd.stop({ machines: false });
  await machine().restart();
  expect((await host.whereabouts(guest.id)).domain).toBe('running');
  kept.push((await guest.save())[0]);
  expect(await guest.run('wc -l < lines')).toBe(String(lines));
  await guest.remove();
  for (const snapshotId of kept.sort(() => Math.random() - 0.5)) await host.snapshots.remove(snapshotId);
  expect(await snapshotsLeft()).toEqual([]);
}, 900_000);

test('a libvirtd that dies in the middle leaves no frozen guest and no snapshot that is not one', async () => {
  const { host } = machine();
  const guest = await start();
  const kept: string[] = [];
  let lines = 0;
  for (const ms of [100, 150, 200, 250, 300, 350]) {
    lines++;
    await guest.run(`echo line >> lines; dd if=/dev/zero of=bulk bs=1M count=32 status=none`);
    const snapshotId = newSnapshotId();
    const kill = await beginStep(machine(), 'save', guest.id, snapshotId);
    await delay(ms); // the moment of its death is what is varied here
    await killLibvirtd(machine());
    await kill();
    await machine().restart();
    if (ms % 100 === 0) {
      await guest.save(snapshotId);
      kept.push(snapshotId);
    } else {
      await host.snapshots.thaw(guest.id);
      await host.snapshots.remove(snapshotId);
    }
    expect(await guest.run('timeout 10 sync && wc -l < lines')).toBe(String(lines));
    expect((await host.snapshots.list()).filter(({ state }) => state === 'half')).toEqual([]);
  }
  const fork = await start(kept.at(-1) ?? '');
  expect(await fork.run('wc -l < lines')).toBe(String(lines - 1));
  await fork.remove();
  await guest.remove();
  for (const snapshotId of kept) await host.snapshots.remove(snapshotId);
  expect(await snapshotsLeft()).toEqual([]);
}, 900_000);

test('killed anywhere in a restore or a delete, it is repeated', async () => {
  const { host } = machine();
  const guest = await start();
  await guest.run('echo saved > state');
  const [first] = await guest.save();
  await guest.run('echo later > state');
  const [second] = await guest.save();
  await guest.off();
  for (const ms of [0, 20, 40, 60, 90]) {
    await killedAfter(machine(), ms, 'revert', guest.id, first);
    expect((await host.look(guest.id))[2]?.absent).toBe(false);
  }
  await host.snapshots.revert({ sandboxId: guest.id, snapshotId: first, restoreId: 'killed' }, stepContext());
  expect(await layersOf(guest)).toEqual(['vda.killed.qcow2']);
  await guest.boot();
  expect(await guest.run('cat state')).toBe('saved');
  await guest.remove();
  for (const ms of [0, 5, 10, 20]) await killedAfter(machine(), ms, 'removeSnapshot', guest.id, first);
  await host.snapshots.remove(first);
  await host.snapshots.remove(second);
  expect(await snapshotsLeft()).toEqual([]);
}, 600_000);

test('a guest whose agent does not answer is saved without its help, and its writes are as after a power cut', async () => {
  const guest = await start();
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
}, 600_000);
