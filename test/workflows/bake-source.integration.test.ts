import { describe, expect } from 'vitest';
import { Bakery } from '../support/baked.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { FULL, sweepOn } from '../support/sweep.ts';

const STEPS = SAGA_POINTS.bake.steps;
const actor = { apiKeyId: 'test', agentId: null };

interface MemoryBakery extends Bakery {
  /** The names of this test that the host has images of, whole or half made. */
  images(): string[];
}

const { alone, mayfly: all } = useSagaCases({ kind: 'in-memory' });

/** One sandbox and one snapshot a test: what else is there, a bake has left. At its end nothing half made is. */
const test = alone.extend<{ bakery: MemoryBakery }>({
  bakery: async ({ mayfly, operations }, use) => {
    const { memory } = mayfly;
    if (!memory) throw new Error('there is no machine in memory');
    const { id } = await mayfly.create();
    await operations.write(id, 'kept');
    const bakery = new Bakery(mayfly, await operations.snapshot(id));
    const images = () => [...memory.images.keys(), ...memory.staged.keys()].filter((name) => bakery.isMade(name));
    await use(Object.assign(bakery, { images }));
    mayfly.disarm();
    await bakery.clear(images());
    expect(images()).toEqual([]);
  },
});

const sweep = sweepOn(test);

describe.concurrent('a bake', () => {
  sweep(STEPS)(
    'when %s fails before or after its effect, nothing of it is left, and the name is free',
    async (step, { mayfly, bakery }) => {
      const { name, sourceId } = bakery.input();
      for (const where of ['before', 'after']) {
        const asked = bakery.input(name);
        mayfly.arm(`${step}.${where}=error`, asked.sourceId);
        const failure = { step, code: 'fault_injected' };
        expect(await bakery.bake(asked)).toMatchObject({ state: 'failed', bakeId: asked.bakeId, image: null, failure });
        expect(bakery.images()).toEqual([]);
        const builder = await mayfly.store.sandboxes.get(asked.builderId);
        expect(builder?.state ?? null).toBe(step === 'claimSourceName' ? null : 'destroyed');
      }
      const once = ['source.baking', 'source.bake-failed'];
      expect(await bakery.audit(name)).toEqual([...once, ...once]);
      if (step !== 'publishSource') return;
      await bakery.keepHistory('bake-failed', name);
      mayfly.arm(undefined, sourceId);
      expect(await bakery.bake(bakery.input(name))).toMatchObject({ state: 'ready', failure: null });
    },
  );

  test(
    'when flattenDisks or publishSource fails in its middle, nothing of it is left',
    FULL,
    async ({ mayfly, bakery }) => {
      for (const step of ['flattenDisks', 'publishSource']) {
        const asked = bakery.input();
        mayfly.arm(`${step}.during=error`, asked.sourceId);
        expect(await bakery.bake(asked)).toMatchObject({ state: 'failed', failure: { step } });
        expect(bakery.images()).toEqual([]);
      }
    },
  );

  test('when the builder cannot be made, its reason is told', FULL, async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    mayfly.arm('bootDomain.before=error(boot_failed)', asked.builderId);
    expect(await bakery.bake(asked)).toMatchObject({
      state: 'failed',
      failure: { step: 'startBuilder', code: 'boot_failed' },
    });
    expect(await mayfly.record(asked.builderId)).toMatchObject({ state: 'failed' });
  });

  test('undos that fail are repeated until they hold', FULL, async ({ mayfly, bakery }) => {
    const undos = ['discardImages', 'retractSource'].flatMap((undo) => [
      `${undo}.before=2*error`,
      `${undo}.after=2*error`,
    ]);
    const asked = bakery.input();
    mayfly.arm(['publishSource.after=error', ...undos].join(';'), asked.sourceId);
    expect(await bakery.bake(asked)).toMatchObject({
      state: 'failed',
      waitingFor: null,
      failure: { step: 'publishSource' },
    });
  });

  test('a builder that is deleted meanwhile fails the bake', FULL, async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    mayfly.arm('cleanGuest.before=1*delay(8000)', asked.sourceId);
    await mayfly.sagas.bakeSource(asked);
    await mayfly.until(asked.builderId, ({ state }) => state === 'running');
    await mayfly.destroy(asked.builderId);
    expect(await bakery.ended(asked)).toMatchObject({ state: 'failed', failure: { code: 'bake_failed' } });
  });

  describe('one name', () => {
    test(
      'is one source: a second bake is refused while the first runs, and when it has ended',
      FULL,
      async ({ mayfly, bakery }) => {
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
      },
    );

    test('is refused to another bake that gets past the door, and the source stays ready', async ({ bakery }) => {
      const asked = bakery.input();
      await bakery.bake(asked);
      expect(await bakery.bake(bakery.input(asked.name))).toMatchObject({
        state: 'ready',
        bakeId: asked.bakeId,
        failure: null,
      });
      expect(await bakery.audit(asked.name)).toEqual(['source.baking', 'source.baked']);
    });

    test('of a source that somebody else made is refused, and stays as it is', async ({ bakery }) => {
      const failed = await bakery.bake(bakery.input('golden-debian12'));
      expect(failed).toMatchObject({ state: 'failed', failure: { step: 'claimSourceName', code: 'source_exists' } });
      expect(await bakery.remove('golden-debian12')).toMatchObject({ failure: { code: 'source_not_baked' } });
      expect(all().memory?.images.has('golden-debian12')).toBe(true);
    });
  });

  test('a delete that fails is repeated until it holds', FULL, async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    await bakery.bake(asked);
    mayfly.arm(['before', 'during', 'after'].map((where) => `removeSource.${where}=1*error`).join(';'), asked.sourceId);
    expect(await bakery.remove(asked.name)).toMatchObject({ state: 'deleted', waitingFor: null });
  });

  test('a delete that is refused leaves the source, and says why', FULL, async ({ mayfly, bakery }) => {
    const asked = bakery.input();
    await bakery.bake(asked);
    mayfly.arm('removeSource.before=error(source_in_use)', asked.sourceId);
    expect(await bakery.remove(asked.name)).toMatchObject({ state: 'ready', failure: { code: 'source_in_use' } });
    await bakery.keepHistory('refused-source-delete', asked.name);
    expect(await bakery.listed()).toContain(asked.name);
  });
});
