import { describe, expect } from 'vitest';
import { useBakeCases } from '../../support/bake-cases.ts';
import { SAGA_POINTS } from '../../support/saga-points.ts';
import { sweepOn } from '../../support/sweep.ts';

const actor = { apiKeyId: 'test', agentId: null };

const { test, mayfly: all } = useBakeCases();
const sweep = sweepOn(test);

describe.concurrent('a bake', () => {
  sweep(SAGA_POINTS.bake.steps)('that failed at %s is done under the same name', async (step, { mayfly, bakery }) => {
    const asked = bakery.input();
    mayfly.arm(`${step}.after=error`, asked.sourceId);
    expect(await bakery.bake(asked)).toMatchObject({ state: 'failed', failure: { step } });
    if (step === 'publishSource') await bakery.keepHistory('bake-failed', asked.name);
    mayfly.arm(undefined, asked.sourceId);
    expect(await bakery.bake(bakery.input(asked.name))).toMatchObject({ state: 'ready', failure: null });
  });

  test('when flattenDisks or publishSource fails in its middle, nothing of it is left', async ({ mayfly, bakery }) => {
    for (const step of ['flattenDisks', 'publishSource']) {
      const asked = bakery.input();
      mayfly.arm(`${step}.during=error`, asked.sourceId);
      expect(await bakery.bake(asked)).toMatchObject({ state: 'failed', failure: { step } });
      expect(bakery.images()).toEqual([]);
    }
  });

  test('when the builder cannot be made, its reason is told', async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    mayfly.arm('bootDomain.before=error(boot_failed)', asked.builderId);
    expect(await bakery.bake(asked)).toMatchObject({
      state: 'failed',
      failure: { step: 'startBuilder', code: 'boot_failed' },
    });
    expect(await mayfly.record(asked.builderId)).toMatchObject({ state: 'failed' });
  });

  test('a builder that is deleted meanwhile fails the bake', async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    mayfly.arm('cleanGuest.before=1*delay(8000)', asked.sourceId);
    await mayfly.sagas.bakeSource(asked);
    await mayfly.until(asked.builderId, ({ state }) => state === 'running');
    await mayfly.destroy(asked.builderId);
    expect(await bakery.ended(asked)).toMatchObject({ state: 'failed', failure: { code: 'bake_failed' } });
  });

  describe('one name', () => {
    test('is one source: a second bake is refused while the first runs, and when it has ended', async ({
      mayfly,
      bakery,
    }) => {
      const asked = bakery.input();
      mayfly.arm('claimSourceName.before=1*delay(1000)', asked.sourceId);
      await mayfly.sagas.bakeSource(asked);
      await mayfly.sagas.bakeSource(asked);
      await expect(mayfly.sagas.bakeSource(bakery.input(asked.name))).rejects.toMatchObject({
        code: 'source_exists',
      });
      const { sourceId, hostId, name } = asked;
      await expect(mayfly.sagas.deleteSource({ sourceId, hostId, name, actor })).rejects.toMatchObject({
        code: 'too_many_requests',
      });
      expect(await bakery.ended(asked)).toMatchObject({ state: 'ready', bakeId: asked.bakeId });
    });

    test('of a source that somebody else made is refused, and stays as it is', async ({ bakery }) => {
      const failed = await bakery.bake(bakery.input('golden-debian12'));
      expect(failed).toMatchObject({ state: 'failed', failure: { step: 'claimSourceName', code: 'source_exists' } });
      expect(await bakery.remove('golden-debian12')).toMatchObject({ failure: { code: 'source_not_baked' } });
      expect(all().memory?.images.has('golden-debian12')).toBe(true);
    });
  });

  test('a delete that fails is repeated until it holds', async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    await bakery.bake(asked);
    mayfly.arm(['before', 'during', 'after'].map((where) => `removeSource.${where}=1*error`).join(';'), asked.sourceId);
    expect(await bakery.remove(asked.name)).toMatchObject({ state: 'deleted', waitingFor: null });
  });

  test('a delete that is refused leaves the source, and says why', async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    await bakery.bake(asked);
    mayfly.arm('removeSource.before=error(source_in_use)', asked.sourceId);
    expect(await bakery.remove(asked.name)).toMatchObject({ state: 'ready', failure: { code: 'source_in_use' } });
    await bakery.keepHistory('refused-source-delete', asked.name);
    expect(await bakery.listed()).toContain(asked.name);
  });
});
