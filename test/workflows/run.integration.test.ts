import { describe, expect } from 'vitest';
import { dispatcherWorkflowId, runWorkflowId } from '../../model/functions/run-saga.ts';
import { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { eventually } from '../support/eventually.ts';
import { SLEEPS, useFunctionCases } from '../support/function-cases.ts';

/** Runs of functions, from their event to the proof. */
const { test, mayfly: all, functions, awaitStart } = useFunctionCases();

test('an event yields a result, without residue', async () => {
  const script = [
    '#!/bin/sh',
    'cat > in; cmp in $MAYFLY_EVENT; env | grep ^MAYFLY_ | sort',
    'printf \'{"bytes":%s}\' "$(wc -c < in | tr -d " ")" > $MAYFLY_RESULT',
    'echo one > $MAYFLY_ARTIFACTS/a.txt; mkdir $MAYFLY_ARTIFACTS/b; echo two > $MAYFLY_ARTIFACTS/b/c; ln -s /etc/passwd $MAYFLY_ARTIFACTS/link',
  ].join('\n');
  const name = await functions().deploy('./greet', {}, { greet: script });
  const run = await functions().run(name, { n: 1 });
  const output = await functions().output(run.id);
  expect(run).toMatchObject({
    state: 'ended',
    outcome: 'succeeded',
    cleanup: 'proved',
    attempts: [{ n: 1, outcome: 'succeeded', cleanup: 'proved' }],
    result: { contentType: 'application/json', partial: false },
  });
  expect(run.artifacts.map(({ path }) => path).toSorted()).toEqual(['a.txt', 'b/c']);
  expect(output).toContain(`MAYFLY_RUN_ID=${run.id}`);
  expect(output).toContain('MAYFLY_ATTEMPT=1');
  expect(await (await functions().result(run.id)).json()).toEqual({ bytes: run.eventBytes });
  expect(await (await functions().artifact(run.id, 'b/c')).text()).toBe('two\n');
  const sandbox = await all().store.sandboxes.get(run.attempts[0]?.sandboxId ?? '');
  expect(sandbox).toMatchObject({ state: 'destroyed', builds: 'run', proof: expect.anything() });
  expect(sandbox?.proof).not.toHaveProperty('unproved');
  expect(await all().store.runs.admitted()).not.toContainEqual(expect.objectContaining({ id: run.id }));
  const shown = await eventually(
    async () => (await all().client.workflow.getHandle(runWorkflowId(run.id)).describe()).searchAttributes,
    ({ RunOutcome }) => RunOutcome !== undefined,
  );
  expect(shown).toMatchObject({ RunFunction: [`default/${name}`], RunOutcome: ['succeeded'] });
  await eventually(
    () => new ControlTemporalClient(all().client).isOpen(dispatcherWorkflowId({ project: 'default', name })),
    false,
  );
});

describe('a cancel (case 17)', () => {
  test('of a queued one ends it at once', async () => {
    const name = await functions().deploy('true');
    await functions().pause(name);
    const waiting = await functions().trigger(name);
    const response = await functions().cancel(waiting.id);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      state: 'ended',
      outcome: 'cancelled',
      cleanup: 'none',
      attempts: [],
    });
  });

  test("of a running one ends its process, with the guest's outcome; an ended one is unchanged", async () => {
    const run = await functions().trigger(await functions().deploy(SLEEPS));
    await awaitStart(run.id);
    await functions().cancel(run.id);
    expect(await functions().over(run)).toMatchObject({ outcome: 'cancelled', cleanup: 'proved', exitCode: null });
    const response = await functions().cancel(run.id);
    expect(response.status).toBe(200);
    expect((await functions().get(run.id)).outcome).toBe('cancelled');
  });
});

test('a failed process ends its run, and its result is partial (case 11)', async () => {
  const run = await functions().run(await functions().deploy('echo \'{"half":1}\' > $MAYFLY_RESULT; exit 1'));
  expect(run).toMatchObject({
    outcome: 'failed',
    exitCode: 1,
    failure: { code: 'run_failed' },
    cleanup: 'proved',
    result: { partial: true },
  });
});
