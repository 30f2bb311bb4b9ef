import { describe, expect } from 'vitest';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { type TestSource, useSourceCases } from '../support/source-cases.ts';
import { pairsOf, sweepOn } from '../support/sweep.ts';

const test = useSourceCases();
const STEPS = SAGA_POINTS.prepare.steps;
const TITLE = '%s fails %s its effect: the source is as it was, and the failure is recorded';

describe.concurrent('a source', () => {
  const fail = async ([step, where]: readonly [string, string], { source }: { source: TestSource }) => {
    const before = await source.tree();
    source.arm(`${step}.${where}=error`);
    const record = await source.done('prepare');
    expect(record).toMatchObject({
      state: 'unprepared',
      failure: { step, code: 'fault_injected' },
      waitingFor: null,
    });
    expect(await source.tree()).toEqual(before);
    source.arm(undefined);
    expect(await source.done('prepare')).toMatchObject({ state: 'prepared', failure: null });
  };
  test.for(pairsOf(STEPS, ['before']))(TITLE, fail);
  sweepOn(test)(pairsOf(STEPS, ['after']))(TITLE, fail);
});
