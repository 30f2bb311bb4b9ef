import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { FileSystemDiff } from '../../../../host/diff/file-system-diff.ts';
import { imageChain } from '../../../../host/disk/image.ts';
import { parseXml } from '../../../../host/libvirt/client/xml.ts';
import { layeredDisks } from '../../../../host/libvirt/layers/disk-layers.ts';
import { Workspace } from '../../../../host/libvirt/layers/workspace.ts';
import { exec } from '../../../../host/os/exec.ts';
import { LONGEST_CHAIN } from '../../../../model/snapshots/snapshot-saga.ts';
import { diffBinary } from '../../../../worker/config/artifacts.mjs';
import { killLibvirtd } from '../../../host/libvirt/killed-libvirtd.ts';
import { beginStep, killedAfter } from '../../../host/libvirt/killed-step.ts';
import { LivingGuest, stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { delayFault } from '../../../support/passage-of-time.ts';
import { sweep, tier } from '../../../support/sweep.ts';

/** Number of snapshots, of which every 9th makes the chain too long. */
const SNAPSHOTS = tier() === 'all' ? 30 : 10;
const SLOWER_AT_MOST = 1.2;
const ROUNDS = tier() === 'all' ? 21 : 7;

const machine = useMachine();

/** Returns the open layers of the disk in QEMU, the active one first. */
async function liveLayers({ id }: LivingGuest): Promise<string[]> {
  const domain = parseXml(await machine().virsh.run(['dumpxml', id]));
  return layeredDisks(domain).flatMap(({ layers }) => layers.map(({ path }) => path));
}

/** Returns the files of a snapshot's disk, by their backing references. */
async function layersOf(snapshotId: string) {
  return await imageChain(join(machine().state.snapshot(snapshotId), 'vda.qcow2'), 'qcow2');
}

/** Returns the digest of a file in a snapshot, read without a guest. */
async function digestIn(snapshotId: string, path: string): Promise<string> {
  const diff = new FileSystemDiff(diffBinary() ?? '');
  const { content } = await diff.content({ layers: await layersOf(snapshotId) }, Buffer.from(path), 64 * 1_048_576);
  return createHash('sha256').update(content).digest('hex');
}

/** Returns the extents of a guest's file on its disk, in bytes. */
async function extentsOf(guest: LivingGuest, path: string): Promise<[number, number][]> {
  const rows = await guest.run(`sudo filefrag -b4096 -v ${path}`);
  return [...rows.matchAll(/^\s*\d+:\s*\d+\.\.\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+):/gm)].map(([, at, blocks]) => [
    Number(at) * 4096,
    Number(blocks) * 4096,
  ]);
}

/** Measures repeated reads of the same bytes of a snapshot's disk through all layers, ms. */
async function readingTime(snapshotId: string, extents: readonly [number, number][]): Promise<number> {
  const reads = Array.from({ length: 8 }, () => extents).flat();
  const commands = reads.flatMap(([at, bytes]) => ['-c', `read -q ${at} ${bytes}`]);
  const began = performance.now();
  await exec('qemu-io', ['-r', '-f', 'qcow2', ...commands, join(machine().state.snapshot(snapshotId), 'vda.qcow2')]);
  return performance.now() - began;
}

/** Shuffles deterministically, by Lehmer's generator. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  let state = seed;
  return items
    .map((item) => {
      state = (state * 48_271) % 2_147_483_647;
      return { item, at: state };
    })
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

const snapshotsBelow = async ({ id }: LivingGuest) => (await new Workspace(machine().state, id).spec())?.snapshots;

test(`${SNAPSHOTS} snapshots in a row leave a short chain, and each what it was, whatever is deleted`, async () => {
  const { snapshots } = machine().host;
  const guest = await LivingGuest.wake(machine());
  await guest.run('dd if=/dev/urandom of=same bs=1M count=32 status=none; sync');
  const extents = await extentsOf(guest, 'same');
  const digests = new Map<string, string>();
  let [deepest, most] = ['', 0];
  for (let n = 0; n < SNAPSHOTS; n++) {
    const digest = await guest.run(`dd if=/dev/urandom of=own bs=1M count=4 status=none; sync; sha256sum < own`);
    const [snapshotId] = await guest.save();
    digests.set(snapshotId, digest.slice(0, 64));
    const layers = (await liveLayers(guest)).length;
    if (layers > most) [deepest, most] = [snapshotId, layers];
    if ((await snapshots.chainLength(guest.id)) <= LONGEST_CHAIN) continue;
    const flattening = snapshots.flatten(guest.id, stepContext());
    await guest.run('echo meanwhile > meanwhile; sync');
    await flattening;
    expect(await liveLayers(guest)).toHaveLength(2);
    expect(await snapshotsBelow(guest)).toEqual([]);
  }
  expect(most).toBe(LONGEST_CHAIN + 3); // those snapshots, one too many, the source, and the active layer
  const [first = '', ...others] = digests.keys();
  const last = others.at(-1) ?? '';

  await machine().host.pause(guest.id); // so that it takes no processor time from the measurement
  const times: Record<string, number[]> = { first: [], last: [], deepest: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, id] of Object.entries({ first, last, deepest }))
      times[name]?.push(await readingTime(id, extents));
  }
  const [ofFirst = 0, ofLast = 0, ofDeepest = 0] = Object.values(times).map((ms) => Math.min(...ms));
  process.stderr.write(
    `reading ${ofFirst.toFixed(0)} ms first, ${ofLast.toFixed(0)} last, ${ofDeepest.toFixed(0)} deepest\n`,
  );
  expect(ofLast / ofFirst).toBeLessThan(SLOWER_AT_MOST);
  await machine().host.resume(guest.id);

  for (const [id, digest] of digests) expect(await digestIn(id, '/home/sandbox/own')).toBe(digest);
  const restore = async (snapshotId: string) => {
    await guest.off();
    await snapshots.revert({ sandboxId: guest.id, snapshotId, restoreId: `to-${snapshotId}` }, stepContext());
    await guest.boot();
    expect((await guest.run('sha256sum < own')).slice(0, 64)).toBe(digests.get(snapshotId));
  };
  const [survivor = '', ...order] = shuffled([...digests.keys()], 5);
  for (const [n, id] of order.entries()) {
    if (n % 10 === 9) await restore(id);
    await snapshots.remove(id);
    digests.delete(id);
    if (n % 5 > 0) continue;
    for (const [left, digest] of digests) expect(await digestIn(left, '/home/sandbox/own')).toBe(digest);
  }
  await restore(survivor);
  await guest.remove();
  expect(await snapshots.remove(survivor)).toEqual({ keptFor: null });
  expect(await readdir(machine().state.snapshots)).toEqual([]);
}, 900_000);

describe('a flatten that is cut off', () => {
  let guest: LivingGuest;
  let digest: string;
  const taken: string[] = [];
  const lines: string[] = [];

  const save = async () => taken.push((await guest.save())[0]);
  const written = () => [...lines, digest].join('\n');

  /** Aborts a flatten as the next operation does. */
  async function overtake(ms: number): Promise<void> {
    const stop = new AbortController();
    const stopped = machine().host.snapshots.flatten(guest.id, { signal: stop.signal, alive: () => {} });
    const ended = expect(stopped).rejects.toThrow('overtaken');
    await delayFault(ms); // the moment of the abort is varied here
    const began = performance.now();
    stop.abort(new Error('overtaken'));
    await ended;
    process.stderr.write(`gave way in ${(performance.now() - began).toFixed(0)} ms\n`);
  }

  async function killDaemonToo(ms: number): Promise<void> {
    const kill = await beginStep(machine(), 'flatten', guest.id, '-');
    await delayFault(ms); // the moment of its death is varied here
    await killLibvirtd(machine());
    await kill();
    await machine().restart();
  }

  beforeAll(async () => {
    guest = await LivingGuest.wake(machine());
    const ballast = 'dd if=/dev/zero of=ballast bs=1M count=224 status=none';
    digest = await guest.run(`${ballast}; dd if=/dev/urandom of=bulk bs=1M count=16 status=none; sha256sum < bulk`);
    await save();
  });

  const ENDS = [
    ['overtaken', 150],
    ['killed with libvirtd', 300],
    ['killed', 100],
    ['overtaken', 50],
    ['killed', 600],
    ['overtaken', 400],
  ] as const;
  sweep(ENDS)('%s after %s ms, nothing is lost, and the next operation can use the disks', async ([how, ms]) => {
    lines.push(`${how} ${ms}`);
    await guest.run(`echo ${how} ${ms} >> lines; sync`);
    await save();
    if (how === 'overtaken') await overtake(ms);
    else if (how === 'killed') await killedAfter(machine(), ms, 'flatten', guest.id, '-');
    else await killDaemonToo(ms);
    await save();
    expect(await guest.run('cat lines; sha256sum < bulk')).toBe(written());
  });

  test('killed in the middle is repeated; nothing is lost when QEMU dies before it is recorded', async () => {
    const { snapshots } = machine().host;
    await killedAfter(machine(), 400, 'flatten', guest.id, '-');
    await snapshots.flatten(guest.id, stepContext());
    expect(await liveLayers(guest)).toHaveLength(2);

    // everything is copied, and QEMU dies before it is recorded
    await save();
    const workspace = new Workspace(machine().state, guest.id);
    const [active = '', below, ...rest] =
      layeredDisks(await workspace.domain())[0]?.layers.map(({ path }) => path) ?? [];
    await machine().virsh.run(['blockpull', guest.id, 'vda', '--base', rest.at(-1) ?? '', '--wait']);
    expect((await imageChain(active, 'qcow2'))[1]?.path).toBe(rest.at(-1));
    await workspace.markPulling();
    process.kill(Number((await exec('pgrep', ['-f', `guest=${guest.id},`])).stdout), 'SIGKILL');
    await guest.off();
    await guest.boot();
    expect((await imageChain(active, 'qcow2'))[1]?.path).toBe(below);
    expect(await guest.run('cat lines; sha256sum < bulk')).toBe(written());
    await snapshots.flatten(guest.id, stepContext());

    for (const id of taken) await snapshots.remove(id);
    expect(await readdir(machine().state.snapshots)).toEqual([]);
    expect(await guest.run('echo 3 | sudo tee /proc/sys/vm/drop_caches; sha256sum < bulk')).toBe(`3\n${digest}`);
    await guest.remove();
  });
});

test('only deleted layers at the top of the chain are merged into the active layer', async () => {
  const { snapshots } = machine().host;
  const guest = await LivingGuest.wake(machine());
  const digest = (await guest.run('dd if=/dev/urandom of=own bs=1M count=4 status=none; sync; sha256sum < own')).slice(
    0,
    64,
  );
  const [kept] = await guest.save();
  await guest.run('echo more > more; sync');
  const [passing] = await guest.save();
  expect(await snapshots.remove(passing)).toEqual({ keptFor: `sandbox ${guest.id}` });
  expect(await snapshots.mergeDeleted(guest.id, stepContext())).toBe(1);
  expect(await snapshotsBelow(guest)).toEqual([kept]);
  expect(await liveLayers(guest)).toHaveLength(3);
  expect(await readdir(machine().state.snapshots)).toEqual([kept]);
  expect(await guest.run('cat more; sha256sum < own')).toContain(`more\n${digest}`);
  expect(await digestIn(kept, '/home/sandbox/own')).toBe(digest);

  const [top] = await guest.save();
  await snapshots.remove(kept);
  expect(await snapshots.mergeDeleted(guest.id, stepContext())).toBe(0);
  expect(await snapshotsBelow(guest)).toEqual([top, kept]);
  await snapshots.remove(top);
  expect(await snapshots.mergeDeleted(guest.id, stepContext())).toBe(2);
  expect(await readdir(machine().state.snapshots)).toEqual([]);
  await guest.off();
  await guest.boot();
  expect(await guest.run('cat more; sha256sum < own')).toContain(`more\n${digest}`);
  await guest.remove();
}, 600_000);
