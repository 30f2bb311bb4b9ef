import { afterAll, beforeAll, expect } from 'vitest';
import { TestDoor } from '../support/door.ts';
import { TestFunctions } from '../support/functions.ts';
import { useSagaCases } from '../support/saga-cases.ts';

/** Runs of functions, from their event to the proof. */
const { test, mayfly: all } = useSagaCases();
let door: TestDoor;
let functions: TestFunctions;
beforeAll(async () => {
  door = await TestDoor.open(all());
  functions = new TestFunctions(door);
});
afterAll(() => door.close());

test('an event comes in, a result goes out, and nothing is left', async () => {
  const name = await functions.deploy(
    './greet',
    {},
    {
      greet:
        '#!/bin/sh\ncat > in; printf \'{"hello":%s}\' "$(wc -c < in | tr -d " ")" > $MAYFLY_RESULT; echo seen; cmp in $MAYFLY_EVENT; env | grep ^MAYFLY_ | sort; echo one > $MAYFLY_ARTIFACTS/a.txt\n',
    },
  );
  const run = await functions.run(name, { n: 12345678901234567890n.toString() });
  const output = await functions.output(run.id);
  expect(run, JSON.stringify([run, output, await functions.output(run.id, 'stderr')])).toMatchObject({
    state: 'ended',
    outcome: 'succeeded',
    cleanup: 'proved',
    attempts: [{ n: 1, outcome: 'succeeded', cleanup: 'proved' }],
    result: { contentType: 'application/json', partial: false },
    artifacts: [{ path: 'a.txt', bytes: 4 }],
  });
  expect(output).toContain(`MAYFLY_RUN_ID=${run.id}`);
  expect(await (await functions.result(run.id)).json()).toEqual({ hello: run.eventBytes });
  expect(await (await functions.artifact(run.id, 'a.txt')).text()).toBe('one\n');
  const sandbox = await all().store.sandboxes.get(run.attempts[0]?.sandboxId ?? '');
  expect(sandbox).toMatchObject({ state: 'destroyed', builds: 'run', proof: expect.anything() });
});
