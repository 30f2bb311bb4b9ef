import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { ID_BYTES, snapshotIdFrom } from '../../../model/ids.ts';
import { ephemeralSnapshotWorkflowIdOf } from '../../../model/snapshots/snapshot-saga.ts';
import type { TestOperations } from '../../support/operations.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { TEST_TIMEOUTS } from '../../support/test-timeouts.ts';

const { test, mayfly: all } = useSagaCases({ kind: 'in-memory' });
const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

/** Starts an ephemeral snapshot, as the API does, and returns its id. The caller may die from here on. */
async function begin(operations: TestOperations, sandboxId: string, withinMs?: number): Promise<string> {
  const snapshotId = snapshotIdFrom(randomBytes(ID_BYTES));
  await startEphemeral(snapshotId, withinMs);
  const wish = { kind: 'snapshot', operationId: snapshotId, name: snapshotId, snapshotKind: 'disk' } as const;
  await operations.begin(sandboxId, { ...wish, reason: 'diff', actor });
  return snapshotId;
}

async function startEphemeral(snapshotId: string, withinMs?: number): Promise<void> {
  const { hostId, installationId } = all().machine().observer;
  await all().sagas.snapshots.startEphemeral({
    snapshotId,
    hostId,
    installationId,
    actor,
    timeouts: TEST_TIMEOUTS,
    ...(withinMs !== undefined && { withinMs }),
  });
}

const over = (snapshotId: string) =>
  all().client.workflow.getHandle(ephemeralSnapshotWorkflowIdOf(snapshotId)).result();

test('it is deleted on release, and appears in no list', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  const snapshotId = await begin(operations, id);
  expect(await operations.ended(id, snapshotId)).toBeNull();
  expect(await operations.record(snapshotId)).toMatchObject({ state: 'ready', reason: 'diff', name: snapshotId });
  expect((await mayfly.store.snapshots.list({ sandboxId: id, limit: 9 })).items).toEqual([]);
  mayfly.arm('removeSnapshot.before=1*error', snapshotId);
  await mayfly.sagas.snapshots.releaseEphemeral(snapshotId);
  await over(snapshotId);
  expect(await operations.record(snapshotId)).toMatchObject({ state: 'deleted' });
  expect(await operations.onHost()).toEqual([]);
});

test('it deletes itself when its caller has died', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  mayfly.arm('verifySnapshot.before=1*delay(2500)', id);
  const snapshotId = await begin(operations, id, 500);
  await over(snapshotId);
  expect(await operations.record(snapshotId)).toMatchObject({ state: 'deleted' });
  expect(await operations.onHost()).toEqual([]);
});

test('its workflow ends when the snapshot failed, was never started, or is deleted by another workflow', async ({
  mayfly,
  operations,
}) => {
  const { id } = await mayfly.create();
  mayfly.arm('saveSnapshot.before=error', id);
  const failed = await begin(operations, id);
  expect(await operations.ended(id, failed)).toMatchObject({ step: 'saveSnapshot' });
  const never = snapshotIdFrom(randomBytes(ID_BYTES));
  await startEphemeral(never);
  mayfly.arm(undefined, id);
  const deleted = await begin(operations, id);
  await operations.ended(id, deleted);
  mayfly.arm('removeSnapshot.before=1*delay(1000)', deleted);
  await operations.beginDelete(await operations.record(deleted));
  for (const snapshotId of [failed, never, deleted]) {
    await mayfly.sagas.snapshots.releaseEphemeral(snapshotId);
    await over(snapshotId);
  }
  expect(await operations.record(deleted)).toMatchObject({ state: 'deleted' });
  expect(await operations.onHost()).toEqual([]);
});

test('it is not started after its deadline', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  const snapshotId = snapshotIdFrom(randomBytes(ID_BYTES));
  const wish = { kind: 'snapshot', operationId: snapshotId, name: snapshotId, snapshotKind: 'disk' } as const;
  const timely = { ...wish, reason: 'diff', actor } as const;
  const late = operations.begin(id, { ...timely, notAfter: new Date(Date.now() - 1000).toISOString() });
  await expect(late).rejects.toMatchObject({ code: 'sandbox_busy' });
  expect(await mayfly.store.snapshots.get(snapshotId)).toBeNull();
  await operations.begin(id, { ...timely, notAfter: new Date(Date.now() + 60_000).toISOString() });
  expect(await operations.ended(id, snapshotId)).toBeNull();
});

test('it is deleted with a sandbox that ends during the snapshot', async ({ mayfly, operations }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  mayfly.arm('saveSnapshot.during=hang', input.id);
  const snapshotId = await begin(operations, input.id);
  await mayfly.sagas.snapshots.releaseEphemeral(snapshotId);
  await mayfly.destroy(input);
  await over(snapshotId);
  expect(await operations.record(snapshotId)).toMatchObject({ state: 'failed' });
  expect(await operations.onHost()).toEqual([]);
});
