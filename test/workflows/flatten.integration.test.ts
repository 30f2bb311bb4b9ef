import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { HostSnapshots } from '../../host/snapshots.ts';
import { MayflyError } from '../../model/errors.ts';
import { LONGEST_CHAIN } from '../../model/snapshot.ts';
import { GIB } from '../../model/storage.ts';
import { useMayfly } from '../support/mayfly.ts';
import { useOperations } from '../support/operations.ts';

const mayfly = useMayfly();
const operations = useOperations(mayfly);

/** What the host says of chains: a simulated one copies, so it has none of its own. */
let chain = 0;
let snapshots: HostSnapshots;
beforeEach(() => {
  if (!mayfly().host) throw new Error('there is no host');
  snapshots = mayfly().host?.machine.hypervisor.snapshots ?? snapshots;
  chain = LONGEST_CHAIN + 1;
  vi.spyOn(snapshots, 'chainLength').mockImplementation(async () => chain);
});
afterEach(() => vi.restoreAllMocks());

const shorten = async () => {
  chain = 0;
};
const flattened = () => vi.spyOn(snapshots, 'flatten').mockImplementation(shorten);
const told = async (id: string, kind: string) => (await operations().told(id)).filter((event) => event.kind === kind);

test('a chain that is too long is shortened after the snapshot, once, and that is no use of the sandbox', async () => {
  const flatten = flattened();
  const { id } = await mayfly().create(mayfly().input({ idleSeconds: 4 }));
  const snapshot = await operations().snapshot(id);
  expect(snapshot.saved).not.toHaveProperty('chainLength');
  await expect.poll(() => told(id, 'sandbox.flattened')).toMatchObject([{ detail: { snapshots: LONGEST_CHAIN + 1 } }]);
  await operations().snapshot(id);
  expect(flatten).toHaveBeenCalledOnce();
  await mayfly().keepHistory('flattened', id);
  mayfly().failpoints.arm('flatten.before=hang');
  chain = LONGEST_CHAIN + 1;
  await operations().snapshot(id);
  await operations().beganStep(id, 'flatten');
  expect(await mayfly().end(id)).toMatchObject({ state: 'destroyed', stopReason: 'idle' });
});

test('one that is short enough is left alone', async () => {
  const flatten = flattened();
  chain = LONGEST_CHAIN;
  const { id } = await mayfly().create();
  await operations().snapshot(id);
  await operations().pause(id);
  expect(flatten).not.toHaveBeenCalled();
});

test('past a quota it is kept from copying what snapshots hold, not from freeing what is held of deleted ones', async () => {
  const { store } = mayfly();
  const { key } = await store.apiKeys.create({ name: 'limited', scopes: ['sandboxes:write'], sandboxDiskBytes: GIB });
  const { id } = await mayfly().create({ ...mayfly().input(), createdBy: { apiKeyId: key.id, agentId: null } });
  const flatten = flattened().mockRejectedValueOnce(new MayflyError('flatten_failed', 'no'));
  const snapshot = await operations().snapshot(id);
  await expect.poll(() => told(id, 'sandbox.flatten-failed')).toHaveLength(1);
  await store.apiKeys.limit(key.id, { sandboxDiskBytes: 1 });
  await operations().pause(id);
  const refused = { detail: { failure: { code: 'quota_exceeded' } } };
  await expect.poll(async () => (await told(id, 'sandbox.flatten-failed'))[1]).toMatchObject(refused);
  expect(flatten).toHaveBeenCalledOnce();
  await operations().delete(snapshot);
  await operations().pause(id);
  await expect.poll(() => told(id, 'sandbox.flattened')).toHaveLength(1);
});

test('it gives way to whatever is asked for, and is begun again afterwards', async () => {
  const { id } = await mayfly().create();
  const given: unknown[] = [];
  const flatten = vi.spyOn(snapshots, 'flatten').mockImplementation(
    (_id, { signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          given.push(signal.reason);
          reject(signal.reason);
        }),
      ),
  );
  await operations().snapshot(id);
  await expect.poll(() => flatten.mock.calls.length).toBe(1);
  expect(await operations().snapshot(id)).toMatchObject({ state: 'ready' });
  await expect.poll(() => flatten.mock.calls.length).toBe(2);
  expect(await operations().pause(id)).toBeNull();
  await expect.poll(() => flatten.mock.calls.length).toBe(3);
  expect(given).toHaveLength(2);
  flattened();
  expect(await operations().resume(id)).toBeNull();
  await expect.poll(() => told(id, 'sandbox.flattened')).toHaveLength(1);
  expect(await told(id, 'sandbox.flatten-failed')).toEqual([]);
});

test('the end of the sandbox does not wait for it', async () => {
  const input = mayfly().input();
  await mayfly().create(input);
  mayfly().failpoints.arm('flatten.before=hang');
  await operations().snapshot(input.id);
  await operations().beganStep(input.id, 'flatten');
  expect(await mayfly().destroy(input)).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
  await mayfly().keepHistory('deleted-while-flattening', input.id);
});

test('when there is no room it is said, the sandbox goes on, and it is tried again after the next operation', async () => {
  const { id } = await mayfly().create();
  const flatten = vi
    .spyOn(snapshots, 'flatten')
    .mockRejectedValueOnce(new MayflyError('flatten_failed', 'the host has no room'));
  await operations().snapshot(id);
  await expect
    .poll(() => told(id, 'sandbox.flatten-failed'))
    .toMatchObject([
      { detail: { failure: { code: 'flatten_failed', step: 'flatten', message: 'the host has no room' } } },
    ]);
  expect(await mayfly().record(id)).toMatchObject({ state: 'running', failure: null });
  flatten.mockImplementation(shorten);
  await operations().pause(id);
  await expect.poll(() => told(id, 'sandbox.flattened')).toHaveLength(1);
});

test('a host worker that is gone in its middle does it again', async () => {
  const { id } = await mayfly().create();
  let calls = 0;
  vi.spyOn(snapshots, 'flatten').mockImplementation(async () => {
    if (++calls === 1) throw new MayflyError('host_unavailable', 'libvirtd is gone');
    chain = 0;
  });
  await operations().snapshot(id);
  await expect.poll(() => told(id, 'sandbox.flattened'), { timeout: 10_000 }).toHaveLength(1);
  expect(calls).toBe(2);
});
