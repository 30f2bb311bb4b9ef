import { describe, expect } from 'vitest';
import { changedSandbox } from '../support/changed-sandbox.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { pairsOf } from '../support/sweep.ts';

const { test } = useSagaCases({ kind: 'in-memory' });

/** Steps of a restore from when the machine goes off. */
const STEPS = SAGA_POINTS.restore.steps.slice(1); // once the machine goes off

test('a restore brings back what was saved, and keeps what was there', async ({ mayfly, operations }) => {
  const { id, snapshot } = await changedSandbox(mayfly, operations);
  const { failure, kept } = await operations.restore(id, snapshot.id);
  expect(failure).toBeNull();
  expect(kept).toMatchObject({ state: 'ready' });
  expect(await operations.read(id)).toBe('old');
  expect(await mayfly.record(id)).toMatchObject({ state: 'running', parentSnapshotId: snapshot.id, waitingFor: null });
});

describe.concurrent('a step of a restore', () => {
  test.for(pairsOf(STEPS, ['before', 'after']))(
    '%s that fails %s its effect leaves the sandbox what it was',
    async ([step, where], { mayfly, operations }) => {
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
      if (step === 'bootDomain' && where === 'before') await mayfly.keepHistory('restore-failed', id);
    },
  );
});
