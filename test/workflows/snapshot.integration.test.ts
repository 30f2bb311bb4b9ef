import { describe, expect } from 'vitest';
import { workflowIdOf } from '../../model/sagas/queues.ts';
import { unprovenLayers } from '../../model/sandbox/proof.ts';
import { snapshotWorkflowIdOf } from '../../model/snapshots/snapshot.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { FULL, pairsOf, sweepOn } from '../support/sweep.ts';

const { test, alone } = useSagaCases({ kind: 'in-memory' });
const sweep = sweepOn(alone);

/** A hang must be noticed by the step's own time-out. */
const HANGS = {
  saveSnapshot: { saveSnapshotMs: 300 },
  verifySnapshot: { verifySnapshotMs: 300 },
};
const STEPS = SAGA_POINTS.snapshot.steps;

describe.concurrent('a step', () => {
  sweep(pairsOf(STEPS, ['before', 'during', 'after']))(
    '%s that fails %s its effect leaves nothing',
    async ([step, where], { mayfly, operations }) => {
      const { id } = await mayfly.create();
      mayfly.arm(`${step}.${where}=error`, id);
      const failed = await operations.snapshot(id, 'again');
      expect(failed).toMatchObject({ state: 'failed', saved: null, failure: { step } });
      expect(await operations.onHost()).toEqual([]);
      await operations.write(id, 'it goes on');
      expect(await mayfly.record(id)).toMatchObject({ state: 'running', waitingFor: null, parentSnapshotId: null });
      mayfly.arm(undefined, id);
      expect(await operations.snapshot(id, 'again')).toMatchObject({ state: 'ready', name: 'again' });
      if (step === 'saveSnapshot' && where === 'after') await mayfly.keepHistory('snapshot-failed', id);
    },
  );

  sweep(STEPS)('%s that hangs leaves nothing, and no frozen guest', async (step, { mayfly, operations }) => {
    const { id } = await mayfly.create(mayfly.input({}, HANGS[step]));
    mayfly.arm(`${step}.during=hang`, id);
    expect(await operations.snapshot(id)).toMatchObject({ state: 'failed', failure: { step, code: 'step_timeout' } });
    expect(await operations.onHost()).toEqual([]);
    await operations.write(id, 'it goes on');
  });

  sweep(STEPS)(
    '%s that is under way is taken back first by a delete of the sandbox',
    async (step, { mayfly, operations }) => {
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
      if (step === 'saveSnapshot') await mayfly.keepHistory('deleted-while-saving', input.id);
    },
  );

  sweep(STEPS)('%s that fails once in a way that a retry cures is repeated', async (step, { mayfly, operations }) => {
    const { id } = await mayfly.create();
    mayfly.arm(`${step}.after=1*error(host_unavailable)`, id);
    expect(await operations.snapshot(id)).toMatchObject({ state: 'ready', network: { egress: 'none' } });
  });
});

describe.concurrent('an undo', () => {
  sweep(pairsOf(['thaw', 'removeSnapshot'], ['before', 'after']))(
    '%s that fails %s its effect a few times is repeated until it holds',
    async ([undo, where], { mayfly, operations }) => {
      const { id } = await mayfly.create();
      mayfly.arm(`saveSnapshot.after=error;${undo}.${where}=4*error`, id);
      expect(await operations.snapshot(id)).toMatchObject({ state: 'failed', failure: { step: 'saveSnapshot' } });
      expect(await operations.onHost()).toEqual([]);
      expect(await mayfly.record(id)).toMatchObject({ state: 'running', waitingFor: null });
    },
  );
});

test.for(['deleted', 'ttl'])(
  'a guest that is never thawed is waited for, but not when it ends (%s)',
  FULL,
  async (stopReason, { mayfly, operations }) => {
    const input = mayfly.input();
    await mayfly.create(input);
    mayfly.arm('saveSnapshot.after=error;thaw.before=error(guest_unreachable)', input.id);
    const snapshotId = await operations.beginSnapshot(input.id);
    await mayfly.until(input.id, ({ waitingFor }) => waitingFor?.startsWith('thaw on host test') ?? false);
    const failure = operations.ended(input.id, snapshotId);
    if (stopReason === 'ttl') await mayfly.sagas.patch(input.id, { ttlSeconds: 1, actor: input.createdBy });
    const ended = await (stopReason === 'ttl' ? mayfly.end(input.id) : mayfly.destroy(input));
    expect(ended).toMatchObject({ state: 'destroyed', stopReason, waitingFor: null });
    expect(unprovenLayers(ended.proof?.observations ?? [])).toEqual([]);
    expect(await failure).toMatchObject({ step: 'saveSnapshot', code: 'fault_injected' });
    expect(await operations.record(snapshotId)).toMatchObject({ state: 'failed', failure: { step: 'saveSnapshot' } });
    expect(await operations.onHost()).toEqual([]);
    if (stopReason === 'deleted') await mayfly.keepHistory('deleted-while-frozen', input.id);
  },
);

// What a local activity writes is in the store before Temporal keeps the update that asked: a server that dies then forgets it.
test('the first that an operation writes is an activity of the queue', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  await operations.restore(id, (await operations.snapshot(id)).id, { keep: false });
  const { events } = await mayfly.client.workflow.getHandle(workflowIdOf(id)).fetchHistory();
  const queued = events?.map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
  expect(queued).toEqual(expect.arrayContaining(['recordSnapshot', 'restorable']));
  await mayfly.keepHistory('operations-by-queue', id);
});

describe.concurrent('one operation at a time', () => {
  test('another is refused while one is under way, and the same joins it', async ({ mayfly, operations }) => {
    const { id } = await mayfly.create();
    mayfly.arm('saveSnapshot.before=1*delay(1000)', id);
    const actor = { apiKeyId: 'test', agentId: null };
    const operationId = await operations.beginSnapshot(id, 'one');
    await expect(operations.beginSnapshot(id, 'two')).rejects.toMatchObject({ code: 'sandbox_busy' });
    await expect(operations.beginPause(id, 'pause')).rejects.toMatchObject({ code: 'sandbox_busy' });
    await operations.begin(id, { kind: 'snapshot', operationId, name: 'one', snapshotKind: 'disk', actor });
    expect(await operations.ended(id, operationId)).toBeNull();
    await operations.begin(id, { kind: 'snapshot', operationId, name: 'one', snapshotKind: 'disk', actor });
    expect(await operations.onHost()).toHaveLength(1);
  });

  test('a name is one snapshot’s, until it is deleted', FULL, async ({ mayfly, operations }) => {
    const { id } = await mayfly.create();
    const first = await operations.snapshot(id, 'base');
    await expect(operations.beginSnapshot(id, 'base')).rejects.toMatchObject({ code: 'snapshot_name_taken' });
    await operations.delete(first);
    expect(await operations.snapshot(id, 'base')).toMatchObject({ state: 'ready' });
  });

  test(
    'what does not run or has ended is refused; a host that cannot save memory says so, and nothing is left',
    FULL,
    async ({ mayfly, operations }) => {
      const input = mayfly.input();
      mayfly.arm('awaitIp.before=hang', input.id);
      await mayfly.sagas.create(input);
      await expect(operations.beginSnapshot(input.id)).rejects.toMatchObject({ code: 'sandbox_not_running' });
      await mayfly.destroy(input);
      await expect(operations.beginSnapshot(input.id)).rejects.toMatchObject({ code: 'sandbox_ended' });
      mayfly.arm(undefined, input.id);
      const { id } = await mayfly.create();
      const full = { kind: 'snapshot', snapshotKind: 'full', name: 'x', operationId: 'snp-0000000000000000' } as const;
      const actor = { apiKeyId: 'test', agentId: null };
      await operations.begin(id, { ...full, actor });
      expect(await operations.ended(id, full.operationId)).toMatchObject({ code: 'snapshot_unsupported' });
      expect(await operations.snapshot(id)).toMatchObject({ state: 'ready', kind: 'disk' });
    },
  );

  test(
    'an operation is use: the idle timer does not end it, and counts from its end',
    FULL,
    async ({ mayfly, operations }) => {
      const input = mayfly.input({ idleSeconds: 4 });
      await mayfly.create(input);
      mayfly.arm('saveSnapshot.before=1*delay(5500)', input.id);
      expect(await operations.snapshot(input.id)).toMatchObject({ state: 'ready' });
      expect(await mayfly.record(input.id)).toMatchObject({ state: 'running' });
      expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'idle' });
    },
  );
});

describe.concurrent('deleting', () => {
  sweep(['before', 'during', 'after'])(
    'that fails %s its effect a few times is repeated',
    async (where, { mayfly, operations }) => {
      const input = mayfly.input();
      await mayfly.create(input);
      const snapshot = await operations.snapshot(input.id);
      await mayfly.destroy(input);
      mayfly.arm(`removeSnapshot.${where}=1*error`, snapshot.id);
      const deleted = await operations.delete(snapshot);
      expect(deleted).toMatchObject({ state: 'deleted', keptFor: null });
      expect(await operations.onHost()).toEqual([]);
      expect(await operations.delete(snapshot)).toEqual(deleted);
      const kinds = (await operations.told(input.id)).map(({ kind }) => kind);
      expect(kinds.slice(-2)).toEqual(['snapshot.deleting', 'snapshot.deleted']);
      expect(await mayfly.store.audit.verify(input.id)).toMatchObject({ ok: true });
      const fork = await mayfly.create(mayfly.input({ snapshotId: snapshot.id }));
      expect(await mayfly.end(fork.id)).toMatchObject({ state: 'failed', failure: { code: 'snapshot_not_ready' } });
      if (where === 'before') await mayfly.keepHistory('snapshot-deleted', '', snapshotWorkflowIdOf(snapshot.id));
    },
  );
});

test(
  'a snapshot that a lost workflow left half made is taken back with its sandbox',
  FULL,
  async ({ mayfly, operations }) => {
    const input = mayfly.input();
    await mayfly.create(input);
    mayfly.arm('verifySnapshot.before=hang', input.id);
    const snapshotId = await operations.beginSnapshot(input.id);
    await mayfly.client.workflow.getHandle(`sandbox/${input.id}`).terminate('lost');
    mayfly.arm('thaw.before=error(guest_unreachable)', input.id);
    expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed' });
    expect(await operations.record(snapshotId)).toMatchObject({ state: 'failed' });
    expect(await operations.onHost()).toEqual([]);
    await mayfly.keepHistory('taken-over-while-saving', input.id);
  },
);
