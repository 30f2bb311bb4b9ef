import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import { DEFAULT_TIMEOUTS } from '../../../model/sandbox/timeouts.ts';
import { getReserve } from '../../../model/snapshots/storage.ts';
import { addBootedSnapshot } from '../../support/booted-snapshot.ts';
import { proveCleanSlate } from '../../support/clean-slate.ts';
import { TestDoor } from '../../support/door.ts';
import { TestMayfly } from '../../support/mayfly.ts';
import { SmallDisk } from '../../support/small-disk.ts';
import { startWatch } from '../../support/storage-watch.ts';

const MIB = 1_048_576;
let disk: SmallDisk;
let mayfly: TestMayfly;
let door: TestDoor;

beforeAll(async () => {
  await proveCleanSlate();
  disk = await SmallDisk.make(16_384);
  const env = { MAYFLY_HOST: 'libvirt', MAYFLY_LIBVIRT_URI: 'private', MAYFLY_STATE_DIR: disk.folder };
  mayfly = await TestMayfly.start(env);
  door = await TestDoor.open(mayfly);
});

afterAll(async () => {
  door?.close();
  mayfly?.host?.machine.endOnClose();
  await mayfly?.stop();
  await disk?.remove();
});

const hypervisor = () => {
  if (!mayfly.host) throw new Error('there is no host');
  return mayfly.host.machine.hypervisor;
};

/** Returns the output of a command in the guest. */
async function sh(sandboxId: string, command: string): Promise<string> {
  const ended = await door.run(sandboxId, { command }, 120);
  expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
  return (await door.text(ended)).trim();
}

/** Writes pieces of 4 MiB, and records each after its sync to disk. */
const GROWING =
  'i=0; while [ $i -lt 20 ]; do i=$((i+1)); head -c 4194304 /dev/urandom > ~/p$i; sync ~/p$i; sha256sum ~/p$i >> ~/sums; sync ~/sums; done';

async function wroteAll(sandboxId: string, pieces: number): Promise<void> {
  const check =
    'wc -l < ~/sums; sync; sudo sh -c "echo 3 > /proc/sys/vm/drop_caches"; sha256sum --quiet -c ~/sums && echo whole';
  expect(await sh(sandboxId, check)).toBe(`${pieces}\nwhole`);
}

const isStalled = ({ state, stalledBy }: SandboxRecord) => state === 'paused' && stalledBy === 'host_disk_full';

test('a guest on a full host is suspended without loss, and continues when there is room', async () => {
  const { config, store } = mayfly;
  const snapshotId = await addBootedSnapshot({ ...config, snapshots: store.snapshots });
  const input = mayfly.input({ memoryMib: null, snapshotId }, DEFAULT_TIMEOUTS);
  await mayfly.sagas.sandboxes.create(input);
  await mayfly.sagas.sandboxes.settled(input.id, AbortSignal.timeout(180_000));
  const { id } = await mayfly.until(input.id, ({ state }) => state === 'running');
  process.stderr.write(`workspace after boot ${(await hypervisor().diskBytes(id)) / MIB} MiB\n`);

  // without a watch the disk fills to its last byte, and QEMU stops the guest
  await disk.leave(30 * MIB);
  const command = await door.run(id, { command: GROWING }, 0);
  await expect.poll(() => hypervisor().stopped(), { interval: 500 }).toEqual([id]);
  expect(await hypervisor().disk()).toMatchObject({ availableBytes: expect.any(Number) });
  process.stderr.write(`free when QEMU stopped it ${(await hypervisor().disk()).availableBytes / MIB} MiB\n`);
  expect(await mayfly.record(id)).toMatchObject({ state: 'running' });

  const watch = await startWatch(mayfly);
  try {
    expect(await mayfly.until(id, isStalled)).toMatchObject({ waitingFor: expect.stringMatching(/^room on its host/) });
    const reserve = getReserve(await hypervisor().disk());
    await disk.leave(4 * reserve);
    expect(await mayfly.until(id, ({ state }) => state === 'running')).toMatchObject({
      stalledBy: null,
      waitingFor: null,
    });
    expect(await door.until(command, ({ state }) => state === 'ended')).toMatchObject({ exitCode: 0 });
    await wroteAll(id, 20);

    // with the watch the guest is suspended before the last byte is taken
    await disk.leave(reserve + 4 * MIB);
    const again = await door.run(id, { command: GROWING.replaceAll('~/p', '~/q') }, 0);
    await mayfly.until(id, isStalled);
    process.stderr.write(`free when the watch stopped it ${(await hypervisor().disk()).availableBytes / MIB} MiB\n`);
    await disk.clear();
    expect(await door.until(again, ({ state }) => state === 'ended')).toMatchObject({ exitCode: 0 });
    await wroteAll(id, 40);
  } finally {
    await watch.stop();
  }
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed' });
  await hypervisor().snapshots.remove(snapshotId);
  expect(await mayfly.residue()).toEqual([]);
}, 400_000);
