import { beforeAll, expect } from 'vitest';
import { runWorkflowId } from '../../../model/functions/run-saga.ts';
import { imageWorkflowId } from '../../../model/image/image-saga.ts';
import { commandWorkflowIdOf } from '../../../model/sandbox/command-saga.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { eventually } from '../../support/eventually.ts';
import { isRunning, SLEEPS } from '../../support/function-cases.ts';
import { TestFunctions } from '../../support/functions.ts';
import { useImageCases } from '../../support/image-cases.ts';
import { INTERVENTIONS, intervene } from '../../support/interventions.ts';
import { reconcileOnce } from '../../support/reconcile-once.ts';
import { sweepOn } from '../../support/sweep.ts';

/** Promise: commands, runs and builds end in order after any operator action in Temporal, and start nothing twice. */
const { test, door } = useImageCases();
const sweep = sweepOn(test);
let functions: TestFunctions;
beforeAll(() => {
  functions = new TestFunctions(door());
});

sweep(INTERVENTIONS)('a command that runs, %s', async (kind, { mayfly, operations }) => {
  const { id } = await mayfly.createRunning();
  const wish = { command: 'echo x >> /tmp/once; cat /tmp/once; sleep 1000' };
  const command = await operations.door.run(id, wish, 0);
  await operations.door.until(command, ({ state }) => state === 'running');
  await intervene(mayfly.client, commandWorkflowIdOf(command.id), kind);
  if (kind === 'terminate') await reconcileOnce(mayfly.client);
  if (kind.startsWith('reset')) {
    expect((await operations.door.call('POST', `/v1/sandboxes/${id}/commands/${command.id}/cancel`)).status).toBe(202);
  }
  const ended = await operations.door.ended(command);
  expect(ended).toMatchObject({ state: 'ended', outcome: 'cancelled' });
  expect(await operations.door.text(ended)).toBe('x\n');
});

sweep(INTERVENTIONS)('a run of a function, %s', async (kind, { mayfly }) => {
  const run = await functions.trigger(await functions.deploy(SLEEPS));
  await functions.until(run.id, isRunning);
  await eventually(() => functions.output(run.id), /started/);
  await intervene(mayfly.client, runWorkflowId(run.id), kind);
  if (kind === 'terminate') await reconcileOnce(mayfly.client);
  if (kind.startsWith('reset')) await functions.cancel(run.id);
  expect(await functions.over(run)).toMatchObject({ outcome: 'cancelled', cleanup: 'proved', attempts: [{ n: 1 }] });
  expect(await functions.output(run.id)).toBe('started\n');
});

sweep(INTERVENTIONS)('an image that is built, %s', async (kind, { mayfly, images }) => {
  const image = await images.begin('RUN true\nRUN sleep 1000');
  await images.until(image.id, ({ done }) => done === 1);
  await intervene(mayfly.client, imageWorkflowId(image), kind);
  if (kind === 'terminate') await reconcileOnce(mayfly.client);
  if (kind.startsWith('reset')) await intervene(mayfly.client, imageWorkflowId(image), 'cancel');
  const ended = await images.over(image);
  const failed = { state: 'failed', failure: { code: 'image_failed' } };
  const cancelled = { state: 'cancelled', failure: null };
  if (kind === 'terminate') expect(ended).toMatchObject(failed);
  else if (kind.startsWith('cancel')) expect(ended).toMatchObject(cancelled);
  expect([failed.state, cancelled.state]).toContain(ended.state); // A reset build may end in either state.
  expect(isFinal((await mayfly.record(image.builderId)).state)).toBe(true);
});
