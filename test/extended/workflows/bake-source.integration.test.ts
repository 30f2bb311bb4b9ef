import { describe, expect } from 'vitest';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { bakeWorkflowId } from '../../../model/snapshots/bake-saga.ts';
import { useBakeCases } from '../../support/bake-cases.ts';
import { eventually } from '../../support/eventually.ts';
import { INTERVENTIONS, intervene } from '../../support/interventions.ts';
import { reconcileOnce } from '../../support/reconcile-once.ts';
import { stepBegun } from '../../support/step-begun.ts';
import { sweepOn } from '../../support/sweep.ts';

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

const { test } = useBakeCases();
const sweep = sweepOn(test);

describe.concurrent('a bake', () => {
  test('reports why its builder could not be created', async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    mayfly.arm('bootDomain.before=error(boot_failed)', asked.builderId);
    expect(await bakery.bake(asked)).toMatchObject({
      state: 'failed',
      failure: { step: 'startBuilder', code: 'boot_failed' },
    });
    expect(await mayfly.record(asked.builderId)).toMatchObject({ state: 'failed' });
  });

  sweep(INTERVENTIONS)('ends in order: %s', async (kind, { mayfly, bakery }) => {
    const asked = bakery.input();
    const workflowId = bakeWorkflowId('test', asked.name);
    mayfly.arm('flattenDisks.before=1*hang', asked.sourceId);
    await mayfly.sagas.sources.bake(asked);
    await stepBegun(mayfly.client.workflow.getHandle(workflowId), 'flattenDisks');
    await intervene(mayfly.client, workflowId, kind);
    if (kind === 'terminate') await reconcileOnce(mayfly.client);
    if (kind.startsWith('reset')) await intervene(mayfly.client, workflowId, 'cancel');
    const record = await eventually(
      () => bakery.recordOf(asked.name),
      ({ state }) => state !== 'baking' && state !== 'deleting',
    );
    const code = expect.toBeOneOf(['workflow_cancelled', ...(kind.startsWith('reset') ? ['bake_failed'] : [])]);
    if (kind === 'terminate') expect(record).toMatchObject({ state: 'deleted', image: null });
    else expect(record).toMatchObject({ state: 'failed', failure: { code } });
    expect(bakery.images()).toEqual([]);
    expect(isFinal((await mayfly.record(asked.builderId)).state)).toBe(true);
  });

  test('fails when its builder is deleted', async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    mayfly.arm('cleanGuest.before=1*delay(8000)', asked.sourceId);
    await mayfly.sagas.sources.bake(asked);
    await mayfly.until(asked.builderId, ({ state }) => state === 'running');
    await mayfly.destroy(asked.builderId);
    expect(await bakery.ended(asked)).toMatchObject({ state: 'failed', failure: { code: 'bake_failed' } });
  });

  test('is refused for a name whose bake runs or is complete', async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    mayfly.arm('claimSourceName.before=1*delay(1000)', asked.sourceId);
    await mayfly.sagas.sources.bake(asked);
    await mayfly.sagas.sources.bake(asked);
    await expect(mayfly.sagas.sources.bake(bakery.input(asked.name))).rejects.toMatchObject({
      code: 'source_exists',
    });
    const { sourceId, hostId, installationId, name } = asked;
    await expect(mayfly.sagas.sources.delete({ sourceId, hostId, installationId, name, actor })).rejects.toMatchObject({
      code: 'too_many_requests',
    });
    expect(await bakery.ended(asked)).toMatchObject({ state: 'ready', bakeId: asked.bakeId });
  });

  test('a delete that fails is retried until it succeeds', async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    await bakery.bake(asked);
    mayfly.arm(['before', 'during', 'after'].map((where) => `removeSource.${where}=1*error`).join(';'), asked.sourceId);
    expect(await bakery.remove(asked.name)).toMatchObject({ state: 'deleted', waitingFor: null });
  });

  test('a refused delete keeps the source and reports the reason', async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    await bakery.bake(asked);
    mayfly.arm('removeSource.before=error(source_in_use)', asked.sourceId);
    expect(await bakery.remove(asked.name)).toMatchObject({ state: 'ready', failure: { code: 'source_in_use' } });
    expect(await bakery.listed()).toContain(asked.name);
  });
});
