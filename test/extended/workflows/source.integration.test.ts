import { describe, expect } from 'vitest';
import { sourceWorkflowIdOf } from '../../../model/snapshots/source-access.ts';
import { eventually } from '../../support/eventually.ts';
import { INTERVENTIONS, intervene } from '../../support/interventions.ts';
import { reconcileOnce } from '../../support/reconcile-once.ts';
import { SAGA_POINTS } from '../../support/saga-points.ts';
import { useSourceCases } from '../../support/source-cases.ts';
import { stepBegun } from '../../support/step-begun.ts';
import { sweepOn } from '../../support/sweep.ts';

const STEPS = SAGA_POINTS.prepare.steps;

const test = useSourceCases();
const sweep = sweepOn(test);

describe.concurrent('a source', () => {
  sweep(STEPS)(
    'pra-006: a worker that dies in %s is followed by one that goes on, without anything twice',
    async (step, { source }) => {
      await source.done('prepare');
      const prepared = await source.tree();
      await source.done('unprepare');
      // Retryable: done, and then done again, as by the worker after the one that died before it could say so.
      source.arm(`${step}.after=2*error(host_unavailable)`);
      expect(await source.done('prepare')).toMatchObject({ state: 'prepared', failure: null });
      expect(await source.tree()).toEqual(prepared);
    },
  );

  sweep(INTERVENTIONS)('that is prepared ends in order: %s', async (kind, { mayfly, source }) => {
    const before = await source.tree();
    const workflowId = sourceWorkflowIdOf('test', source.name);
    source.arm('createReader.before=1*hang');
    await source.beginAccess('prepare');
    await stepBegun(mayfly.client.workflow.getHandle(workflowId), 'createReader');
    await intervene(mayfly.client, workflowId, kind);
    if (kind === 'terminate') await reconcileOnce(mayfly.client);
    const wanted = kind.startsWith('reset') ? 'prepared' : 'unprepared';
    await eventually(() => source.record(), { state: wanted });
    const failure = kind.startsWith('cancel') ? { code: 'workflow_cancelled' } : null;
    expect(await source.record()).toMatchObject({ failure });
    if (kind.startsWith('reset')) {
      await source.end();
      await source.done('unprepare');
    }
    expect(await source.tree()).toEqual(before);
  });

  test('has one task at a time: the other is refused, and the same is joined', async ({ source }) => {
    source.arm('createReader.before=1*delay(2000)');
    await source.beginAccess('prepare');
    await expect(source.beginAccess('unprepare')).rejects.toMatchObject({ code: 'too_many_requests' });
    await source.beginAccess('prepare');
    expect(await source.end()).toMatchObject({ state: 'prepared' });
  });

  test('of which preparing was refused has nothing to take back, and is not waited for', async ({ source }) => {
    await source.stop();
    expect(await source.done('prepare')).toMatchObject({
      state: 'unprepared',
      failure: { code: 'source_not_running', step: 'inspectSource' },
    });
    expect(await source.done('unprepare')).toMatchObject({ state: 'unprepared', failure: null, waitingFor: null });
    expect(await source.audit()).toEqual(['source.prepare-failed', 'source.unprepared']);
  });

  test('that is prepared without our record knowing of it is unprepared all the same', async ({ mayfly, source }) => {
    const before = await source.tree();
    await source.done('prepare');
    const { id, hostId, name } = source;
    const { installationId } = mayfly.hostRef;
    await mayfly.store.sources.change(
      { id, hostId, installationId, name },
      { state: 'unprepared', changes: [], preparedAt: null },
    );
    expect(await source.done('unprepare')).toMatchObject({ state: 'unprepared' });
    expect(await source.tree()).toEqual(before);
  });
});
