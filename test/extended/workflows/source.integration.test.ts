import { describe, expect } from 'vitest';
import { sourceWorkflowId } from '../../../model/snapshots/source-access.ts';
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
    'pra-006: a worker that dies in %s is replaced by one that continues, without repeated effects',
    async (step, { source }) => {
      await source.done('prepare');
      const prepared = await source.tree();
      await source.done('unprepare');
      // Retryable: done twice, as by the successor of a worker that died before it reported success.
      source.arm(`${step}.after=2*error(host_unavailable)`);
      expect(await source.done('prepare')).toMatchObject({ state: 'prepared', failure: null });
      expect(await source.tree()).toEqual(prepared);
    },
  );

  sweep(INTERVENTIONS)('that is prepared ends in order: %s', async (kind, { mayfly, source }) => {
    const before = await source.tree();
    const workflowId = sourceWorkflowId('test', source.name);
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

  test('has one task at a time: another kind is refused, and the same kind joins', async ({ source }) => {
    source.arm('createReader.before=1*delay(2000)');
    await source.beginAccess('prepare');
    await expect(source.beginAccess('unprepare')).rejects.toMatchObject({ code: 'too_many_requests' });
    await source.beginAccess('prepare');
    expect(await source.end()).toMatchObject({ state: 'prepared' });
  });

  test('whose prepare was refused needs no undo, and does not delay an unprepare', async ({ source }) => {
    await source.stop();
    expect(await source.done('prepare')).toMatchObject({
      state: 'unprepared',
      failure: { code: 'source_not_running', step: 'inspectSource' },
    });
    expect(await source.done('unprepare')).toMatchObject({ state: 'unprepared', failure: null, waitingFor: null });
    expect(await source.audit()).toEqual(['source.prepare-failed', 'source.unprepared']);
  });

  test('that is prepared without a record can be unprepared', async ({ mayfly, source }) => {
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
