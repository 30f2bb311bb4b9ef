import { describe, expect } from 'vitest';
import { unprovenLayers } from '../../model/sandbox/layers.ts';
import { changedSandbox } from '../support/changed-sandbox.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { pairsOf, sweepOn } from '../support/sweep.ts';

const { test } = useSagaCases({ kind: 'in-memory' });

const STEPS = SAGA_POINTS.restore.steps.slice(1); // from the stop of the machine

test('a snapshot refused by its host leaves the sandbox running, and the next restore succeeds', async ({
  mayfly,
  operations,
}) => {
  const { id, snapshot } = await changedSandbox(mayfly, operations);
  for (const step of ['verifySnapshot', 'revertDisk'] as const) {
    mayfly.arm(`${step}.before=1*error(source_changed)`, id);
    const { failure } = await operations.restore(id, snapshot.id, { keep: false });
    expect(failure).toMatchObject({ step, code: 'source_changed' });
    expect(await mayfly.record(id)).toMatchObject({
      state: 'running',
      waitingFor: null,
      parentSnapshotId: snapshot.id,
    });
    expect(await operations.read(id)).toBe('new');
  }
  const { failure, kept } = await operations.restore(id, snapshot.id);
  expect(failure).toBeNull();
  expect(kept).toMatchObject({ state: 'ready' });
  expect(await operations.read(id)).toBe('old');
  expect(await mayfly.record(id)).toMatchObject({ state: 'running', parentSnapshotId: snapshot.id, waitingFor: null });
});

const sweep = sweepOn(test);
type Fail = Parameters<ReturnType<typeof sweep<readonly [string, string]>>>[1];

describe.concurrent('a step of a restore', () => {
  const title = '%s that fails %s its effect leaves the sandbox what it was';
  const fail: Fail = async ([step, where], { mayfly, operations }) => {
    const { id, snapshot } = await changedSandbox(mayfly, operations);
    mayfly.arm(`${step}.${where}=1*error`, id);
    const { failure, kept } = await operations.restore(id, snapshot.id);
    expect(failure).toMatchObject({ step, code: 'fault_injected' });
    expect(kept).toMatchObject({ state: 'ready' });
    const record = await mayfly.record(id);
    expect(record).toMatchObject({ state: 'running', parentSnapshotId: kept?.id, waitingFor: null });
    expect(await operations.read(id)).toBe('new');
    const told = await operations.told(id);
    expect(told.find(({ kind }) => kind === 'sandbox.restore-failed')).toMatchObject({ detail: { failure } });
  };
  test.for(pairsOf(STEPS, ['before']))(title, fail);
  sweep(pairsOf(STEPS, ['after']))(title, fail);

  sweep(STEPS)(
    '%s that fails, also in its rollback, is retried until a delete ends it',
    async (step, { mayfly, operations }) => {
      const { id, snapshot } = await changedSandbox(mayfly, operations);
      mayfly.arm(`${step}.before=error`, id);
      const { operationId } = await operations.beginRestore(id, snapshot.id, true);
      const waiting = await mayfly.until(id, ({ waitingFor }) => waitingFor !== null);
      expect(waiting).toMatchObject({ state: 'restoring', waitingFor: expect.stringContaining(step) });
      const ended = operations.ended(id, operationId);
      if (step === 'removeDomain') mayfly.arm(undefined, id); // the clean-up needs it too
      const destroyed = await mayfly.destroy(id);
      expect(destroyed).toMatchObject({ state: 'destroyed', waitingFor: null });
      expect(unprovenLayers(destroyed.proof?.observations ?? [])).toEqual([]);
      await ended;
    },
  );
});
