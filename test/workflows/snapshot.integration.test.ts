import { describe, expect } from 'vitest';
import { sandboxWorkflowId } from '../../model/sagas/queues.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { pairsOf } from '../support/sweep.ts';

const { test } = useSagaCases({ kind: 'in-memory' });
const STEPS = SAGA_POINTS.snapshot.steps;

describe.concurrent('a step', () => {
  test.for(pairsOf(STEPS, ['before', 'during', 'after']))(
    '%s that fails %s its effect leaves no residue, and its name is free',
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
    },
  );
});

describe.concurrent('a compensation', () => {
  test.for(pairsOf(['thaw', 'removeSnapshot'], ['before', 'after']))(
    '%s that fails %s its effect a few times is retried until it succeeds',
    async ([undo, where], { mayfly, operations }) => {
      const { id } = await mayfly.create();
      mayfly.arm(`saveSnapshot.after=error;${undo}.${where}=4*error`, id);
      expect(await operations.snapshot(id)).toMatchObject({ state: 'failed', failure: { step: 'saveSnapshot' } });
      expect(await operations.onHost()).toEqual([]);
      expect(await mayfly.record(id)).toMatchObject({ state: 'running', waitingFor: null });
    },
  );
});

// Guards: a local activity writes to the store before Temporal stores the update, which a crash of its server would
// lose.
test('the first write of an operation is an activity of the queue', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  await operations.restore(id, (await operations.snapshot(id)).id, { keep: false });
  const { events } = await mayfly.client.workflow.getHandle(sandboxWorkflowId(id)).fetchHistory();
  const queued = events?.map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
  expect(queued).toEqual(expect.arrayContaining(['recordSnapshot', 'restorable']));
});

test.concurrent('operations are exclusive: a second one is refused, and a repeated one joins', async ({
  mayfly,
  operations,
}) => {
  const { id } = await mayfly.create();
  mayfly.arm('saveSnapshot.before=1*delay(1000)', id);
  const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
  const operationId = await operations.beginSnapshot(id, 'one');
  await expect(operations.beginSnapshot(id, 'two')).rejects.toMatchObject({ code: 'sandbox_busy' });
  await expect(operations.beginPause(id, 'pause')).rejects.toMatchObject({ code: 'sandbox_busy' });
  await operations.begin(id, { kind: 'snapshot', operationId, name: 'one', snapshotKind: 'disk', actor });
  expect(await operations.ended(id, operationId)).toBeNull();
  await operations.begin(id, { kind: 'snapshot', operationId, name: 'one', snapshotKind: 'disk', actor });
  expect(await operations.onHost()).toHaveLength(1);
});

describe.concurrent('deleting', () => {
  test.for(['before', 'during', 'after'])(
    'that fails %s its effect a few times is retried',
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
    },
  );
});
