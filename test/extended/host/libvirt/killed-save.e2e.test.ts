import { readdir } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { killLibvirtd } from '../../../host/libvirt/killed-libvirtd.ts';
import { beginStep, killedAfter } from '../../../host/libvirt/killed-step.ts';
import { LivingGuest, newSnapshotId, stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { delayFault } from '../../../support/passage-of-time.ts';
import { sweep } from '../../../support/sweep.ts';

const machine = useMachine();

/** Lists the images in a workspace. */
async function layersOf({ id }: LivingGuest): Promise<string[]> {
  return (await readdir(machine().state.workspace(id))).filter((name) => name.includes('.qcow2'));
}

const snapshotsLeft = async () => await readdir(machine().state.snapshots);

describe('a save that is cut off', () => {
  let guest: LivingGuest;
  const kept: string[] = [];
  let lines = 0;

  beforeAll(async () => {
    guest = await LivingGuest.wake(machine());
  });

  /** Makes the next snapshot take some time, and differ from the last one. */
  async function write(): Promise<void> {
    lines++;
    await guest.run('echo line >> lines; dd if=/dev/zero of=bulk bs=1M count=32 status=none');
  }

  /** Counts the lines in a snapshot, read without a guest. */
  async function linesIn(snapshotId: string): Promise<number> {
    const request = { snapshotId, path: '/home/sandbox/lines', maxBytes: 4_096 };
    const { content } = await machine().host.snapshots.readFile(request, stepContext().signal);
    return content.toString().split('\n').length - 1;
  }

  /** Repeats the save, or undoes it. Asserts that nothing is lost, frozen, or partial. */
  async function goOn(snapshotId: string, end: 'repeated' | 'taken back'): Promise<void> {
    const { snapshots } = machine().host;
    if (end === 'repeated') {
      await guest.save(snapshotId);
      kept.push(snapshotId);
      expect(await linesIn(snapshotId)).toBe(lines);
    } else {
      await snapshots.thaw(guest.id);
      await snapshots.remove(snapshotId);
    }
    expect(await guest.run('timeout 60 sync && wc -l < lines')).toBe(String(lines));
    expect(await layersOf(guest)).toHaveLength(1);
    expect((await snapshots.list()).filter(({ state }) => state === 'half')).toEqual([]);
  }

  const KILLED = [
    [120, 'repeated'],
    [30, 'taken back'],
    [60, 'repeated'],
    [90, 'taken back'],
    [0, 'repeated'],
    [150, 'taken back'],
    [200, 'repeated'],
    [250, 'taken back'],
    [300, 'repeated'],
    [400, 'taken back'],
  ] as const;
  sweep(KILLED)('by a worker that is killed after %s ms is %s', async ([ms, end]) => {
    await write();
    const snapshotId = newSnapshotId();
    await killedAfter(machine(), ms, 'save', guest.id, snapshotId);
    await goOn(snapshotId, end);
  });

  const DEAD = [
    [200, 'repeated'],
    [100, 'repeated'],
    [150, 'taken back'],
    [250, 'taken back'],
    [300, 'repeated'],
    [350, 'taken back'],
  ] as const;
  sweep(DEAD)('by a libvirtd that dies after %s ms is %s', async ([ms, end]) => {
    await write();
    const snapshotId = newSnapshotId();
    const kill = await beginStep(machine(), 'save', guest.id, snapshotId);
    await delayFault(ms); // the moment of its death is varied here
    await killLibvirtd(machine());
    await kill();
    await machine().restart();
    await goOn(snapshotId, end);
  });

  test('leaves a chain that a new libvirtd accepts, whose fork is complete, and which can be deleted in any order', async () => {
    const { host, libvirtd } = machine();
    // libvirt's record of the chain has names that no longer exist
    await libvirtd.stop({ machines: false });
    await machine().restart();
    expect((await host.whereabouts(guest.id)).domain).toBe('running');
    const [last] = await guest.save();
    const fork = await LivingGuest.start(machine(), last);
    expect(await fork.run('wc -l < lines')).toBe(String(lines));
    await fork.remove();
    expect(await guest.run('wc -l < lines')).toBe(String(lines));
    await guest.remove();
    for (const id of [last, ...kept].sort(() => Math.random() - 0.5)) await host.snapshots.remove(id);
    expect(await snapshotsLeft()).toEqual([]);
  });
});

describe('a restore or a delete that is cut off', () => {
  const DELETES = [5, 0, 10, 20];
  let guest: LivingGuest;
  let first: string;
  /** Later snapshots, the newest last. */
  const later: string[] = [];

  beforeAll(async () => {
    guest = await LivingGuest.wake(machine());
    await guest.run('echo saved > state');
    [first] = await guest.save();
    await guest.run('echo later > state');
    for (const _ of DELETES) later.push((await guest.save())[0]);
    await guest.off();
  });

  sweep([40, 0, 20, 60, 90])('is repeated: a worker is killed %s ms into a restore', async (ms) => {
    const { host } = machine();
    await killedAfter(machine(), ms, 'revert', guest.id, first);
    expect((await host.look(guest.id))[2]?.absent).toBe(false);
    await host.snapshots.revert({ sandboxId: guest.id, snapshotId: first, restoreId: 'killed' }, stepContext());
    expect(await layersOf(guest)).toEqual(['vda.killed.qcow2']);
    // another restore follows
    const other = { sandboxId: guest.id, snapshotId: later[0] ?? '', restoreId: `after-${ms}` };
    await host.snapshots.revert(other, stepContext());
  });

  test('ends in a guest with the saved content', async () => {
    const { snapshots } = machine().host;
    await snapshots.revert({ sandboxId: guest.id, snapshotId: first, restoreId: 'killed' }, stepContext());
    await guest.boot();
    expect(await guest.run('cat state')).toBe('saved');
    await guest.remove();
  });

  sweep(DELETES)('is repeated: a worker is killed %s ms into a delete', async (ms) => {
    const newest = later.pop() ?? '';
    await killedAfter(machine(), ms, 'removeSnapshot', guest.id, newest);
    await machine().host.snapshots.remove(newest);
    expect((await snapshotsLeft()).sort()).toEqual([first, ...later].sort());
  });

  test('leaves no residue, including referenced layers', async () => {
    const { snapshots } = machine().host;
    await killedAfter(machine(), 10, 'removeSnapshot', guest.id, first);
    for (const id of [first, ...later]) await snapshots.remove(id);
    expect(await snapshotsLeft()).toEqual([]);
  });
});
