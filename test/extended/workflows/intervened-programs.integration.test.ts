import { beforeAll, describe, expect } from 'vitest';
import { runWorkflowIdOf } from '../../../model/functions/run-saga.ts';
import { imageWorkflowIdOf } from '../../../model/image/image-saga.ts';
import { RECONCILE_ONCE_WORKFLOW } from '../../../model/sagas/reconcile.ts';
import { commandWorkflowIdOf } from '../../../model/sandbox/command.ts';
import { isFinal } from '../../../model/sandbox/sandbox.ts';
import { eventually } from '../../support/eventually.ts';
import { isRunning, SLEEPS } from '../../support/function-cases.ts';
import { TestFunctions } from '../../support/functions.ts';
import { useImageCases } from '../../support/image-cases.ts';
import { INTERVENTIONS, intervene } from '../../support/interventions.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { sweepOn } from '../../support/sweep.ts';

/** Promise: whatever an operator does to them in Temporal, commands, runs and builds end in order, and start nothing twice. */
const { test, door } = useImageCases();
const sweep = sweepOn(test);
let functions: TestFunctions;
beforeAll(() => {
  functions = new TestFunctions(door());
});

async function reconcile({ client }: MayflyCase): Promise<void> {
  const workflowId = `${RECONCILE_ONCE_WORKFLOW}-${crypto.randomUUID()}`;
  await client.workflow.execute(RECONCILE_ONCE_WORKFLOW, {
    workflowId,
    taskQueue: 'mayfly-control',
    args: [{ graceMs: 0 }],
  });
}

describe('a command that runs', () => {
  sweep(INTERVENTIONS)('%s', async (kind, { mayfly, operations }) => {
    const { id } = await mayfly.createRunning();
    const wish = { command: 'echo x >> /tmp/once; cat /tmp/once; sleep 1000' };
    const command = await operations.door.run(id, wish, 0);
    await operations.door.until(command, ({ state }) => state === 'running');
    await intervene(mayfly.client, commandWorkflowIdOf(command.id), kind);
    if (kind === 'terminate') await reconcile(mayfly);
    if (kind.startsWith('reset')) {
      expect((await operations.door.call('POST', `/v1/sandboxes/${id}/commands/${command.id}/cancel`)).status).toBe(
        202,
      );
    }
    const ended = await operations.door.ended(command);
    expect(ended).toMatchObject({ state: 'ended', outcome: 'cancelled' });
    expect(await operations.door.text(ended)).toBe('x\n');
  });
});

describe('a run of a function', () => {
  sweep(INTERVENTIONS)('%s', async (kind, { mayfly }) => {
    const run = await functions.trigger(await functions.deploy(SLEEPS));
    await functions.until(run.id, isRunning);
    await eventually(
      () => functions.output(run.id),
      (text) => text.includes('started'),
    );
    await intervene(mayfly.client, runWorkflowIdOf(run.id), kind);
    if (kind === 'terminate') await reconcile(mayfly);
    if (kind.startsWith('reset')) await functions.cancel(run.id);
    expect(await functions.over(run)).toMatchObject({ outcome: 'cancelled', cleanup: 'proved', attempts: [{ n: 1 }] });
    expect(await functions.output(run.id)).toBe('started\n');
  });
});

describe('an image that is built', () => {
  sweep(INTERVENTIONS)('%s', async (kind, { mayfly, images }) => {
    const image = await images.begin('RUN true\nRUN sleep 1000');
    await images.until(image.id, ({ done }) => done === 1);
    await intervene(mayfly.client, imageWorkflowIdOf(image), kind);
    if (kind === 'terminate') await reconcile(mayfly);
    const state = kind.startsWith('cancel') ? 'cancelled' : 'failed';
    const failure = kind.startsWith('cancel') ? null : { code: 'image_failed' };
    expect(await images.over(image)).toMatchObject({ state, failure, done: 1 });
    expect(isFinal((await mayfly.record(image.builderId)).state)).toBe(true);
  });
});
