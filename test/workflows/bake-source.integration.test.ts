import { describe, expect } from 'vitest';
import { useBakeCases } from '../support/bake-cases.ts';

const { test } = useBakeCases();

describe.concurrent('a bake', () => {
  test('becomes a source, whose name no concurrent bake can take', async ({ bakery }) => {
    const asked = bakery.input();
    expect(await bakery.bake(asked)).toMatchObject({ state: 'ready', bakeId: asked.bakeId, failure: null });
    expect(await bakery.bake(bakery.input(asked.name))).toMatchObject({
      state: 'ready',
      bakeId: asked.bakeId,
      failure: null,
    });
    expect(await bakery.audit(asked.name)).toEqual(['source.baking', 'source.baked']);
  });

  test('failed compensations are retried until they succeed', async ({ mayfly, bakery }) => {
    const undos = ['discardImages', 'retractSource'].flatMap((undo) => [
      `${undo}.before=1*error`,
      `${undo}.after=1*error`,
    ]);
    const asked = bakery.input();
    mayfly.arm(['publishSource.after=error', ...undos].join(';'), asked.sourceId);
    expect(await bakery.bake(asked)).toMatchObject({
      state: 'failed',
      waitingFor: null,
      failure: { step: 'publishSource' },
    });
  });
});
