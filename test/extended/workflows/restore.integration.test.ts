import { describe, expect } from 'vitest';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import { changedSandbox } from '../../support/changed-sandbox.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { SAGA_POINTS } from '../../support/saga-points.ts';
import { sweepOn } from '../../support/sweep.ts';

const { test, alone } = useSagaCases({ kind: 'in-memory' });
const sweep = sweepOn(alone);

/** Steps of a restore from when the machine goes off. */
const STEPS = SAGA_POINTS.restore.steps.slice(1);

describe.concurrent('a step of a restore', () => {
  sweep(STEPS)('%s without a safety snapshot is retried until it succeeds', async (step, { mayfly, operations }) => {
    const { id, snapshot } = await changedSandbox(mayfly, operations);
    mayfly.arm(`${step}.after=2*error`, id);
    const { failure } = await operations.restore(id, snapshot.id, { keep: false });
    // Before the disks change, the machine restarts with them; later the restore can only continue.
    expect(failure).toEqual(step === 'removeDomain' ? expect.objectContaining({ step }) : null);
    expect(await mayfly.record(id)).toMatchObject({ state: 'running', waitingFor: null });
    expect(await operations.read(id)).toBe(step === 'removeDomain' ? 'new' : 'old');
  });

  sweep(STEPS)('%s in progress is cancelled by a delete, which cleans up', async (step, { mayfly, operations }) => {
    const { id, snapshot } = await changedSandbox(mayfly, operations);
    mayfly.arm(`${step}.after=1*hang`, id);
    const { operationId } = await operations.beginRestore(id, snapshot.id, true);
    await operations.beganStep(id, step);
    const ended = operations.ended(id, operationId);
    const destroyed = await mayfly.destroy(id);
    expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
    expect(unprovenLayers(destroyed.proof?.observations ?? [])).toEqual([]);
    expect(await ended).toMatchObject({ code: 'sandbox_ended' });
  });
});

test('a step that hangs times out, and the sandbox is unchanged', async ({ mayfly, operations }) => {
  const { id, snapshot } = await changedSandbox(mayfly, operations, { revertDiskMs: 300, hostDownMs: 2_000 });
  mayfly.arm('revertDisk.during=4*hang', id); // more hangs than attempts within that time
  const { failure } = await operations.restore(id, snapshot.id);
  expect(failure).toMatchObject({ step: 'revertDisk', code: 'step_timeout' });
  expect(await operations.read(id)).toBe('new');
});

test('only a ready snapshot of the same sandbox can be restored', async ({ mayfly, operations }) => {
  const { id, snapshot } = await changedSandbox(mayfly, operations);
  const other = await mayfly.create();
  await expect(operations.beginRestore(other.id, snapshot.id, true)).rejects.toMatchObject({
    code: 'snapshot_not_found',
  });
  await operations.delete(snapshot);
  await expect(operations.beginRestore(id, snapshot.id, true)).rejects.toMatchObject({ code: 'snapshot_not_ready' });
  expect(await mayfly.record(id)).toMatchObject({ state: 'running' });
});
