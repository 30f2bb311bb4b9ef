import { describe, expect } from 'vitest';
import { deriveAttemptIds } from '../../model/functions/run.ts';
import { useFunctionCases } from '../support/function-cases.ts';

const { test, functions, triggerArmed } = useFunctionCases();

/** A few points: failures of its sandbox's steps are tested with the create saga. */
const POINTS = [
  ['bootDomain', 'after'],
  ['placeRunFiles', 'before'],
  ['placeRunFiles', 'after'],
] as const;

describe.concurrent('a step', () => {
  test.for(POINTS)(
    '%s of a start that fails %s its effect is retried in another sandbox, and the process runs once',
    async ([step, where], { mayfly }) => {
      const run = await triggerArmed('echo began', {}, ({ runId, sandboxId }) =>
        mayfly.arm(`${step}.${where}=1*error`, step === 'placeRunFiles' ? runId : sandboxId),
      );
      const over = await functions().over(run);
      expect(over).toMatchObject({
        outcome: 'succeeded',
        cleanup: 'proved',
        attempts: [{ n: 1, outcome: 'succeeded' }],
      });
      expect(over.attempts[0]?.sandboxId).toBe(deriveAttemptIds(run.id, 2).sandboxId);
      expect(await functions().output(run.id)).toBe('began\n');
    },
  );

  test.for(['before', 'after'])('collectRun that fails %s its effect is retried', async (where, { mayfly }) => {
    const run = await triggerArmed('echo 1 > $MAYFLY_RESULT', {}, ({ runId }) =>
      mayfly.arm(`collectRun.${where}=1*error(host_unavailable)`, runId),
    );
    expect(await functions().over(run)).toMatchObject({
      outcome: 'succeeded',
      cleanup: 'proved',
      result: { bytes: 2 },
    });
  });
});
