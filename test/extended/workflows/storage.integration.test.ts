import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import { getReserve, type StorageQuota } from '../../../model/snapshots/storage.ts';
import type { StorageWatch } from '../../../worker/upkeep/storage-watch.ts';
import { eventually } from '../../support/eventually.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import type { TestOperations } from '../../support/operations.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { SmallDisk } from '../../support/small-disk.ts';
import { startWatch } from '../../support/storage-watch.ts';

const MIB = 1_048_576;
let small: SmallDisk;
let watch: StorageWatch;

beforeAll(async () => {
  small = await SmallDisk.make(1_024);
});
afterAll(() => small.remove());

const { test, alone, mayfly: all } = useSagaCases({ env: () => ({ MAYFLY_STATE_DIR: small.folder }) });

beforeAll(async () => {
  watch = await startWatch(all());
});
afterAll(() => watch.stop());

/** Test that fills the disk of all others: afterwards there is room and a watch again. */
const filling = alone.extend<{ disk: SmallDisk }>({
  disk: async ({ mayfly }, use) => {
    await use(small);
    mayfly.disarm();
    vi.restoreAllMocks();
    await watch.stop();
    await small.clear();
    watch = await startWatch(all());
  },
});

const machine = () => all().machine();

async function keyWith(quota: Partial<StorageQuota>): Promise<string> {
  const { key } = await all().store.apiKeys.create({
    project: 'default',
    name: 'limited',
    scopes: ['sandboxes:write'],
    ...quota,
  });
  return key.id;
}

function requestOf(mayfly: MayflyCase, apiKeyId: string) {
  return { ...mayfly.input(), createdBy: { apiKeyId, agentId: null, project: 'default' } };
}

const isStalled = ({ state, stalledBy }: SandboxRecord) => state === 'paused' && stalledBy !== null;
const isRunning = ({ state }: SandboxRecord) => state === 'running';
/** Writes 40 MiB, one by one, and records the progress in a file. */
const GROWING =
  'i=0; while [ $i -lt 40 ]; do i=$((i+1)); head -c 1048576 /dev/urandom >> ~/grown; echo $i > ~/n; sleep 0.1; done; sync';

async function startGrowing(operations: TestOperations, sandboxId: string) {
  return operations.door.run(sandboxId, { command: GROWING }, 0);
}

async function wroteAll(operations: TestOperations, command: Awaited<ReturnType<typeof startGrowing>>): Promise<void> {
  expect(await operations.door.until(command, ({ state }) => state === 'ended')).toMatchObject({ exitCode: 0 });
  expect(await operations.sh(command.sandboxId, 'cat ~/n; stat -c %s ~/grown')).toBe(`40\n${40 * MIB}\n`);
}

filling(
  'a sandbox that grows on a full host stands still, nothing of it is lost, and it goes on when there is room',
  async ({ mayfly, operations, disk }) => {
    const [growing, idle] = [await mayfly.create(), await mayfly.create()];
    const reserve = getReserve(await machine().hypervisor.disk());
    await disk.leave(reserve + 15 * MIB);
    const command = await startGrowing(operations, growing.id);

    const stalled = await mayfly.until(growing.id, isStalled);
    expect(stalled).toMatchObject({
      stalledBy: 'host_disk_full',
      waitingFor: expect.stringMatching(/^room on its host: .* kept free\. Delete snapshots or sandboxes/),
    });
    expect(await machine().hypervisor.whereabouts(growing.id)).toMatchObject({ domain: 'paused' });
    expect(await mayfly.record(idle.id)).toMatchObject({ state: 'running', stalledBy: null });

    expect(await operations.resume(growing.id)).toMatchObject({ code: 'host_disk_full' });
    expect(await mayfly.record(growing.id)).toMatchObject({ state: 'paused', stalledBy: 'host_disk_full' });
    const refused = { state: 'failed', failure: { step: 'reserve', code: 'host_disk_full' } };
    expect(await mayfly.create()).toMatchObject(refused);
    const snapshot = await operations.snapshot(idle.id);
    expect(snapshot).toMatchObject({ state: 'failed', failure: { step: 'saveSnapshot', code: 'host_disk_full' } });

    await disk.leave(4 * reserve);
    expect(await mayfly.until(growing.id, isRunning)).toMatchObject({ stalledBy: null, waitingFor: null });
    await wroteAll(operations, command);
    const told = (await operations.told(growing.id))
      .map(({ kind }) => kind)
      .filter((kind) => kind.startsWith('sandbox.'));
    expect(told.slice(-2)).toEqual(['sandbox.stalled', 'sandbox.unstalled']);
  },
);

filling(
  'a snapshot, a restore and a fork that find no room half way leave nothing half made',
  async ({ mayfly, operations, disk }) => {
    const { id } = await mayfly.create();
    await operations.write(id, 'old');
    await operations.sh(id, 'head -c 40000000 /dev/urandom > ~/data; sync');
    const snapshot = await operations.snapshot(id);
    await watch.stop();
    // Another writer takes the free space between the check and the operation.
    const before = await machine().hypervisor.capacity();
    vi.spyOn(machine().hypervisor, 'capacity').mockResolvedValue(before);
    vi.spyOn(machine().hypervisor, 'disk').mockResolvedValue({ totalBytes: 1024 * MIB, availableBytes: 1024 * MIB });
    await disk.leave(20 * MIB);

    const failed = await operations.snapshot(id);
    expect(failed).toMatchObject({ state: 'failed', failure: { code: 'host_disk_full' } });
    expect(await operations.onHost()).toEqual([{ snapshotId: snapshot.id, state: 'whole' }]);
    const fork = await mayfly.create(mayfly.input({ snapshotId: snapshot.id }));
    expect(fork).toMatchObject({ state: 'failed', failure: { step: 'cloneDisk', code: 'host_disk_full' } });
    await operations.write(id, 'new');
    const { failure } = await operations.restore(id, snapshot.id);
    expect(failure).toMatchObject({ code: 'host_disk_full' });
    expect(await mayfly.record(id)).toMatchObject({ state: 'running' });
    expect(await operations.read(id)).toBe('new');

    const { operationId } = await operations.beginRestore(id, snapshot.id, false);
    const { waitingFor } = await mayfly.until(id, (record) => record.waitingFor !== null);
    expect(waitingFor).toMatch(/^revertDisk on host test: The host's disk is full: /);
    await disk.clear();
    expect(await operations.ended(id, operationId)).toBeNull();
    expect(await operations.read(id)).toBe('old');
  },
);

/** Resolves when the store has a measurement above `bytes` for the sandbox. */
async function measured(sandboxId: string, bytes: number): Promise<void> {
  const look = async () => {
    const hosts = await all().store.measuredDisks.list();
    return hosts.flatMap(({ sandboxes }) => sandboxes).find(({ id }) => id === sandboxId)?.bytes ?? 0;
  };
  await eventually(look, (found) => found > bytes);
}

filling('a watch that was killed goes on with what it had stopped', async ({ mayfly, operations, disk }) => {
  const { id } = await mayfly.create();
  const reserve = getReserve(await machine().hypervisor.disk());
  await disk.leave(reserve + 20 * MIB);
  const command = await startGrowing(operations, id);
  await mayfly.until(id, isStalled);
  await watch.stop();
  await disk.leave(4 * reserve);
  watch = await startWatch(all());
  await mayfly.until(id, isRunning);
  await wroteAll(operations, command);
});

describe.concurrent('a quota', () => {
  test('of a key suspends a sandbox that exceeds it, until it is raised', async ({ mayfly, operations }) => {
    const apiKeyId = await keyWith({ diskBytes: 90 * MIB });
    const growing = await mayfly.create(requestOf(mayfly, apiKeyId));
    const other = await mayfly.create();
    await operations.sh(growing.id, 'head -c 70000000 /dev/urandom > ~/before; sync');
    const command = await startGrowing(operations, growing.id);
    expect(await mayfly.until(growing.id, isStalled)).toMatchObject({
      stalledBy: 'quota_exceeded',
      waitingFor: expect.stringMatching(/^room in a quota: The API key [0-9a-f]{12} may store 90\.0 MiB and stores /),
    });
    expect(await operations.resume(growing.id)).toMatchObject({ code: 'quota_exceeded' });
    expect(await mayfly.create(requestOf(mayfly, apiKeyId))).toMatchObject({
      state: 'failed',
      failure: { code: 'quota_exceeded' },
    });
    expect(await mayfly.record(other.id)).toMatchObject({ state: 'running' });
    await mayfly.store.apiKeys.limit(apiKeyId, { diskBytes: 400 * MIB });
    await mayfly.until(growing.id, isRunning);
    await wroteAll(operations, command);
  });

  test('of a sandbox includes its snapshots: another is refused, and a delete frees room', async ({
    mayfly,
    operations,
  }) => {
    const apiKeyId = await keyWith({ sandboxDiskBytes: 80 * MIB });
    const { id } = await mayfly.create(requestOf(mayfly, apiKeyId));
    await operations.sh(id, 'head -c 30000000 /dev/urandom > ~/data; sync');
    await measured(id, 30_000_000);
    const first = await operations.snapshot(id);
    const refused = operations.snapshot(id);
    await expect(refused).rejects.toMatchObject({
      code: 'quota_exceeded',
      message: expect.stringContaining(`the largest of which is ${first.id} with`),
    });
    const command = await startGrowing(operations, id);
    expect(await mayfly.until(id, isStalled)).toMatchObject({ stalledBy: 'quota_exceeded' });
    await operations.pause(id);
    expect(await mayfly.record(id)).toMatchObject({ state: 'paused', stalledBy: null, waitingFor: null });
    expect(await operations.resume(id)).toMatchObject({ code: 'quota_exceeded' });
    await operations.delete(first);
    expect(await operations.resume(id)).toBeNull();
    await wroteAll(operations, command);
  });

  test('counts layers of deleted snapshots, but not as growth of the sandbox that refers to them', async ({
    mayfly,
    operations,
  }) => {
    const [whole, single] = [await keyWith({ diskBytes: 90 * MIB }), await keyWith({ sandboxDiskBytes: 90 * MIB })];
    const idle = await mayfly.create(requestOf(mayfly, whole));
    const { id } = await mayfly.create(requestOf(mayfly, single));
    const held = vi.spyOn(machine().hypervisor, 'heldBytes');
    held.mockResolvedValue(new Map([idle, { id }].map((one) => [one.id, 90 * MIB])));
    expect(await mayfly.until(id, isStalled)).toMatchObject({ stalledBy: 'quota_exceeded' });
    expect(await operations.resume(id)).toMatchObject({ code: 'quota_exceeded' });
    const actor = { apiKeyId: whole, agentId: null, project: 'default' };
    await expect(operations.snapshot(idle.id, undefined, actor)).rejects.toMatchObject({ code: 'quota_exceeded' });
    held.mockResolvedValue(new Map([[idle.id, 200 * MIB]]));
    await measured(idle.id, 200 * MIB);
    await mayfly.until(id, isRunning);
    expect(await mayfly.record(idle.id)).toMatchObject({ state: 'running' });
    held.mockRestore();
  });

  test('with room for one admits one of two concurrent creates', async ({ mayfly }) => {
    const apiKeyId = await keyWith({ diskBytes: 100 * MIB });
    const two = await Promise.all([1, 2].map(() => mayfly.create(requestOf(mayfly, apiKeyId))));
    expect(two.map(({ state }) => state).toSorted()).toEqual(['failed', 'running']);
    const failed = two.find(({ state }) => state === 'failed');
    expect(failed?.failure).toMatchObject({ step: 'proposeHosts', code: 'quota_exceeded' });
  });

  test('counts two snapshots that start at once', async ({ mayfly, operations }) => {
    const apiKeyId = await keyWith({ diskBytes: 200 * MIB });
    const input = [requestOf(mayfly, apiKeyId), requestOf(mayfly, apiKeyId)];
    const ids = (await Promise.all(input.map((one) => mayfly.create(one)))).map(({ id }) => id);
    for (const id of ids) {
      await operations.sh(id, 'head -c 60000000 /dev/urandom > ~/data; sync');
      await measured(id, 60_000_000);
    }
    for (const id of ids) mayfly.arm('saveSnapshot.before=1*delay(500)', id);
    const actor = { apiKeyId, agentId: null, project: 'default' };
    const taken = await Promise.allSettled(ids.map((id) => operations.snapshot(id, undefined, actor)));
    expect(taken.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });
});
