import { describe, expect } from 'vitest';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { SAGA_POINTS } from '../../support/saga-points.ts';
import { sweepOn } from '../../support/sweep.ts';

const { test, alone } = useSagaCases({ kind: 'in-memory' });
const sweep = sweepOn(alone);

/** Short timeouts, so that a hang is noticed by the timeout of its own step. */
const HANGS = {
  saveSnapshot: { saveSnapshotMs: 300 },
  verifySnapshot: { verifySnapshotMs: 300 },
};
const STEPS = SAGA_POINTS.snapshot.steps;

describe.concurrent('a step', () => {
  sweep(STEPS)('%s that hangs leaves no residue, and no frozen guest', async (step, { mayfly, operations }) => {
    const { id } = await mayfly.create(mayfly.input({}, HANGS[step]));
    mayfly.arm(`${step}.during=hang`, id);
    expect(await operations.snapshot(id)).toMatchObject({ state: 'failed', failure: { step, code: 'step_timeout' } });
    expect(await operations.onHost()).toEqual([]);
    await operations.write(id, 'it goes on');
  });

  sweep(STEPS)('%s in progress is undone first by a delete of the sandbox', async (step, { mayfly, operations }) => {
    const input = mayfly.input();
    await mayfly.create(input);
    mayfly.arm(`${step}.during=hang`, input.id);
    const snapshotId = await operations.beginSnapshot(input.id);
    const ended = operations.ended(input.id, snapshotId);
    const destroyed = await mayfly.destroy(input);
    expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
    expect(unprovenLayers(destroyed.proof?.observations ?? [])).toEqual([]);
    expect(await ended).toMatchObject({ code: 'sandbox_ended' });
    expect(await operations.record(snapshotId)).toMatchObject({
      state: 'failed',
      failure: { code: 'sandbox_ended' },
    });
    expect(await operations.onHost()).toEqual([]);
  });

  sweep(STEPS)('%s that fails once with a retryable error is retried', async (step, { mayfly, operations }) => {
    const { id } = await mayfly.create();
    mayfly.arm(`${step}.after=1*error(host_unavailable)`, id);
    expect(await operations.snapshot(id)).toMatchObject({ state: 'ready', network: { egress: 'none' } });
  });
});

test.for(['deleted', 'ttl'])(
  'a snapshot waits for a guest that is never thawed, but not when the guest ends (%s)',
  async (stopReason, { mayfly, operations }) => {
    const input = mayfly.input();
    await mayfly.create(input);
    mayfly.arm('saveSnapshot.after=error;thaw.before=error(guest_unreachable)', input.id);
    const snapshotId = await operations.beginSnapshot(input.id);
    await mayfly.until(input.id, ({ waitingFor }) => waitingFor?.startsWith('thaw on host test') ?? false);
    const failure = operations.ended(input.id, snapshotId);
    if (stopReason === 'ttl') await mayfly.sagas.sandboxes.patch(input.id, { ttlSeconds: 1, actor: input.createdBy });
    const ended = await (stopReason === 'ttl' ? mayfly.end(input.id) : mayfly.destroy(input));
    expect(ended).toMatchObject({ state: 'destroyed', stopReason, waitingFor: null });
    expect(unprovenLayers(ended.proof?.observations ?? [])).toEqual([]);
    expect(await failure).toMatchObject({ step: 'saveSnapshot', code: 'fault_injected' });
    expect(await operations.record(snapshotId)).toMatchObject({ state: 'failed', failure: { step: 'saveSnapshot' } });
    expect(await operations.onHost()).toEqual([]);
  },
);

describe.concurrent('one operation at a time', () => {
  test('is refused unless the sandbox runs; a host without memory snapshots reports it and leaves no residue', async ({
    mayfly,
    operations,
  }) => {
    const input = mayfly.input();
    mayfly.arm('awaitIp.before=hang', input.id);
    await mayfly.sagas.sandboxes.create(input);
    await expect(operations.beginSnapshot(input.id)).rejects.toMatchObject({ code: 'sandbox_not_running' });
    await mayfly.destroy(input);
    await expect(operations.beginSnapshot(input.id)).rejects.toMatchObject({ code: 'sandbox_ended' });
    mayfly.arm(undefined, input.id);
    const { id } = await mayfly.create();
    const full = { kind: 'snapshot', snapshotKind: 'full', name: 'x', operationId: 'snp-0000000000000000' } as const;
    const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
    await operations.begin(id, { ...full, actor });
    expect(await operations.ended(id, full.operationId)).toMatchObject({ code: 'snapshot_unsupported' });
    expect(await operations.snapshot(id)).toMatchObject({ state: 'ready', kind: 'disk' });
  });

  test('counts as use: the idle timer starts at its end', async ({ mayfly, operations }) => {
    const input = mayfly.input({ idleSeconds: 4 });
    await mayfly.create(input);
    mayfly.arm('saveSnapshot.before=1*delay(5500)', input.id);
    expect(await operations.snapshot(input.id)).toMatchObject({ state: 'ready' });
    expect(await mayfly.record(input.id)).toMatchObject({ state: 'running' });
    expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'idle' });
  });
});

test('a partial snapshot of a lost workflow is removed with its sandbox', async ({ mayfly, operations }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  mayfly.arm('verifySnapshot.before=hang', input.id);
  const snapshotId = await operations.beginSnapshot(input.id);
  await mayfly.client.workflow.getHandle(`sandbox/${input.id}`).terminate('lost');
  mayfly.arm('thaw.before=error(guest_unreachable)', input.id);
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed' });
  expect(await operations.record(snapshotId)).toMatchObject({ state: 'failed' });
  expect(await operations.onHost()).toEqual([]);
});
