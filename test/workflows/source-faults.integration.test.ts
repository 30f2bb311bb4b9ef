import { describe, expect } from 'vitest';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { useSourceCases } from '../support/source-cases.ts';
import { pairsOf } from '../support/sweep.ts';

const test = useSourceCases();

describe.concurrent('a source', () => {
  test.for(pairsOf(SAGA_POINTS.prepare.steps, ['before', 'after']))(
    '%s fails %s its effect: the source is as it was, and the reason is told',
    async ([step, where], { source }) => {
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
    },
  );
});
