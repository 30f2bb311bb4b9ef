import { describe, expect } from 'vitest';
import { useBakeCases } from '../support/bake-cases.ts';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { pairsOf, sweepOn } from '../support/sweep.ts';

const STEPS = SAGA_POINTS.bake.steps;

const { test } = useBakeCases();

const sweep = sweepOn(test);
const TITLE = 'when %s fails %s its effect, nothing of it is left';
type Fail = Parameters<ReturnType<typeof sweep<readonly [string, string]>>>[1];

describe.concurrent('a bake', () => {
  const fail: Fail = async ([step, where], { mayfly, bakery }) => {
    const asked = bakery.input();
    mayfly.arm(`${step}.${where}=error`, asked.sourceId);
    const failure = { step, code: 'fault_injected' };
    expect(await bakery.bake(asked)).toMatchObject({ state: 'failed', bakeId: asked.bakeId, image: null, failure });
    expect(bakery.images()).toEqual([]);
    const builder = await mayfly.store.sandboxes.get(asked.builderId);
    expect(builder?.state ?? null).toBe(step === 'claimSourceName' ? null : 'destroyed');
    expect(await bakery.audit(asked.name)).toEqual(['source.baking', 'source.bake-failed']);
    mayfly.arm(undefined, asked.sourceId);
    expect(await bakery.bake(bakery.input(asked.name))).toMatchObject({ state: 'ready', failure: null });
  };
  test.for(pairsOf(STEPS, ['before']))(TITLE, fail);
  sweep([...pairsOf(STEPS, ['after']), ...pairsOf(['flattenDisks', 'publishSource'], ['during'])])(TITLE, fail);
});
