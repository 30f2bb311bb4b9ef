import { expect } from 'vitest';
import { useTestDoor } from '../../support/door.ts';
import { TestFunctions } from '../../support/functions.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { useRunQueues } from '../../support/sleeping-runs.ts';

/** Rules of a queue, with complete runs. */
const { test, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);
useRunQueues(all);

test('events form a batch, an invalid one excluded, and each gets its item of the result (case 26)', async () => {
  const schema = { type: 'object', required: ['n'] };
  const batch = { maxSize: 3, maxWaitSeconds: 300 };
  const name = await functions.deploy(
    `cmp - $MAYFLY_EVENT && tr -d '[] ' < $MAYFLY_EVENT; echo '[1, {"two": 2}, "three"]' > $MAYFLY_RESULT`,
    {
      batch,
      input: { schema },
    },
  );
  const runs = [await functions.trigger(name, { n: 1 }), await functions.trigger(name, { n: 2 })];
  expect((await functions.post(name, { m: 3 })).status).toBe(422);
  runs.push(await functions.trigger(name, { n: 3 }));
  const over = await Promise.all(runs.map((run) => functions.over(run)));
  expect(over).toMatchObject(runs.map(() => ({ outcome: 'succeeded', cleanup: 'none', attempts: [], exitCode: 0 })));
  const results = await Promise.all(runs.map(async ({ id }) => (await functions.result(id)).json()));
  expect(results).toEqual([1, { two: 2 }, 'three']);
  const of = await functions.over({ id: over[0]?.batch ?? '' });
  expect(of).toMatchObject({ isBatch: true, outcome: 'succeeded', cleanup: 'proved', attempts: [{}] });
  expect(of.events.map(({ runId }) => runId)).toEqual(runs.map(({ id }) => id));
  expect(await functions.output(of.id)).toContain('"data":{"n":3}');
  expect((await functions.cancel(runs[0]?.id ?? '')).status).toBe(200); // it has ended
});
