import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, type Mock, vi } from 'vitest';
import type { HostSnapshots } from '../../../host/snapshots.ts';
import { MayflyError } from '../../../model/errors.ts';
import { ID_BYTES, snapshotIdFrom } from '../../../model/ids.ts';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { LONGEST_CHAIN } from '../../../model/snapshots/snapshot-saga.ts';
import { GIB } from '../../../model/snapshots/storage.ts';
import { eventually } from '../../support/eventually.ts';
import type { TestOperations } from '../../support/operations.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { TEST_TIMEOUTS } from '../../support/test-timeouts.ts';

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
const { test, mayfly: all } = useSagaCases({ kind: 'in-memory' });

/** Chain lengths that the host reports: the in-memory host copies disks, and has no chains of its own. */
const chains = new Map<string, number>();
type Flatten = HostSnapshots['flatten'];
const flattening = new Map<string, Mock<Flatten>>();
/** Sandboxes whose topmost snapshot is deleted. */
const merging = new Set<string>();
beforeAll(() => {
  const { snapshots } = all().machine().hypervisor;
  vi.spyOn(snapshots, 'chainLength').mockImplementation(async (id) => chains.get(id) ?? LONGEST_CHAIN + 1);
  vi.spyOn(snapshots, 'mergeDeleted').mockImplementation(async (id) => Number(merging.delete(id)));
  vi.spyOn(snapshots, 'flatten').mockImplementation(async (id, context) => flattening.get(id)?.(id, context));
});
afterAll(() => vi.restoreAllMocks());

async function shorten(id: string): Promise<void> {
  chains.set(id, 0);
}

/** Mocks the flattening of a sandbox on its host. */
function flattened(id: string, how: Flatten = shorten): Mock<Flatten> {
  const mock = vi.fn(how);
  flattening.set(id, mock);
  return mock;
}

async function told(operations: TestOperations, id: string, kind: string): Promise<AuditEvent[]> {
  return (await operations.told(id)).filter((event) => event.kind === kind);
}

/** Resolves with the events of a kind when their number is `times`. */
const toldTimes = (operations: TestOperations, id: string, kind: string, times: number) =>
  eventually(() => told(operations, id, kind), { length: times });

test('an overlong chain is flattened once after the snapshot, which does not reset the idle timer', async ({
  mayfly,
  operations,
}) => {
  const { id } = await mayfly.create(mayfly.input({ idleSeconds: 6 }));
  const flatten = flattened(id);
  const snapshot = await operations.snapshot(id);
  expect(snapshot.saved).not.toHaveProperty('chainLength');
  expect(await toldTimes(operations, id, 'sandbox.flattened', 1)).toMatchObject([
    { detail: { snapshots: LONGEST_CHAIN + 1 } },
  ]);
  await operations.snapshot(id);
  expect(flatten).toHaveBeenCalledOnce();
  mayfly.arm('flatten.before=hang', id);
  chains.delete(id);
  await operations.snapshot(id);
  await operations.beganStep(id, 'flatten');
  expect(await mayfly.end(id)).toMatchObject({ state: 'destroyed', stopReason: 'idle' });
});

test('a chain within its limit is not flattened', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  const flatten = flattened(id);
  chains.set(id, LONGEST_CHAIN);
  await operations.snapshot(id);
  await operations.pause(id);
  expect(flatten).not.toHaveBeenCalled();
});

test('a quota prevents the copy of layers of live snapshots, but not the release of layers of deleted ones', async ({
  mayfly,
  operations,
}) => {
  const { store } = mayfly;
  const { key } = await store.apiKeys.create({
    project: 'default',
    name: 'limited',
    scopes: ['sandboxes:write'],
    sandboxDiskBytes: GIB,
  });
  const { id } = await mayfly.create({
    ...mayfly.input(),
    createdBy: { apiKeyId: key.id, agentId: null, project: 'default' },
  });
  all().memory?.write(id, 'note', 'what a snapshot holds counts');
  const flatten = flattened(id).mockRejectedValueOnce(new MayflyError('flatten_failed', 'no'));
  const snapshot = await operations.snapshot(id);
  await toldTimes(operations, id, 'sandbox.flatten-failed', 1);
  await store.apiKeys.limit(key.id, { sandboxDiskBytes: 1 });
  await operations.pause(id);
  const refused = { detail: { failure: { code: 'quota_exceeded' } } };
  expect((await toldTimes(operations, id, 'sandbox.flatten-failed', 2))[1]).toMatchObject(refused);
  expect(flatten).toHaveBeenCalledOnce();
  await operations.delete(snapshot);
  await operations.pause(id);
  await toldTimes(operations, id, 'sandbox.flattened', 1);
});

test('it is cancelled by any operation, and restarts afterwards', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  const given: unknown[] = [];
  const flatten = flattened(
    id,
    (_id, { signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          given.push(signal.reason);
          reject(signal.reason);
        }),
      ),
  );
  const begun = (times: number) => eventually(async () => flatten.mock.calls.length, times);
  await operations.snapshot(id);
  await begun(1);
  expect(await operations.snapshot(id)).toMatchObject({ state: 'ready' });
  await begun(2);
  expect(await operations.pause(id)).toBeNull();
  await begun(3);
  expect(given).toHaveLength(2);
  flattened(id);
  expect(await operations.resume(id)).toBeNull();
  await toldTimes(operations, id, 'sandbox.flattened', 1);
  expect(await told(operations, id, 'sandbox.flatten-failed')).toEqual([]);
});

test('the end of the sandbox does not wait for it', async ({ mayfly, operations }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  mayfly.arm('flatten.before=hang', input.id);
  await operations.snapshot(input.id);
  await operations.beganStep(input.id, 'flatten');
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
});

test('a failure for lack of space is audited, the sandbox keeps running, and the next operation retries it', async ({
  mayfly,
  operations,
}) => {
  const { id } = await mayfly.create();
  flattened(id).mockRejectedValueOnce(new MayflyError('flatten_failed', 'the host has no room'));
  await operations.snapshot(id);
  expect(await toldTimes(operations, id, 'sandbox.flatten-failed', 1)).toMatchObject([
    { detail: { failure: { code: 'flatten_failed', step: 'flatten', message: 'the host has no room' } } },
  ]);
  expect(await mayfly.record(id)).toMatchObject({ state: 'running', failure: null });
  await operations.pause(id);
  await toldTimes(operations, id, 'sandbox.flattened', 1);
});

test('it is retried when its host worker dies during it', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  const flatten = flattened(id).mockRejectedValueOnce(new MayflyError('host_unavailable', 'libvirtd is gone'));
  await operations.snapshot(id);
  await toldTimes(operations, id, 'sandbox.flattened', 1);
  expect(flatten).toHaveBeenCalledTimes(2);
});

test('the layer of an ephemeral snapshot is freed when that snapshot is deleted', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  chains.set(id, 1);
  merging.add(id);
  const snapshotId = snapshotIdFrom(randomBytes(ID_BYTES));
  await mayfly.sagas.snapshots.startEphemeral({ snapshotId, ...mayfly.hostRef, actor, timeouts: TEST_TIMEOUTS });
  const wish = { kind: 'snapshot', operationId: snapshotId, name: snapshotId, snapshotKind: 'disk' } as const;
  await operations.begin(id, { ...wish, reason: 'diff', actor });
  expect(await operations.ended(id, snapshotId)).toBeNull();
  expect(await told(operations, id, 'sandbox.flattened')).toEqual([]);
  await mayfly.sagas.snapshots.releaseEphemeral(snapshotId);
  expect(await toldTimes(operations, id, 'sandbox.flattened', 1)).toMatchObject([{ detail: { snapshots: 1 } }]);
});
