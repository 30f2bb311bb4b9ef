import { randomBytes } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import { createImageActivities } from '../../../activities/image/image.ts';
import { imageIdFrom, operationIdFrom, sandboxIdFrom } from '../../../model/ids.ts';
import { isImageFinal } from '../../../model/image/image.ts';
import { deriveStepCommandId } from '../../../model/image/image-saga.ts';
import { commandWorkflowIdOf } from '../../../model/sandbox/command-saga.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { eventually } from '../../support/eventually.ts';
import { useImageCases } from '../../support/image-cases.ts';
import { reconcileOnce } from '../../support/reconcile-once.ts';

/** Builds without a workflow: the reconciler starts them, or marks them failed and removes their residue. */
const { test, mayfly: all } = useImageCases();

const random = (idFrom: (bytes: Uint8Array) => string) => idFrom(randomBytes(10));

const reconcile = () => reconcileOnce(all().client, 100);

test('a build that the API stored before it died is started', async ({ mayfly, images }) => {
  const done = await mayfly.store.images.get((await images.build('RUN true')).id);
  const { begin } = done ?? {};
  if (!done || !begin) throw new Error('it was not kept');
  const [id, name, builderId] = [random(imageIdFrom), images.name(), random(sandboxIdFrom)];
  const builder = { ...begin.builder, id: builderId };
  const stages = (begin.stages ?? []).map((stage) => ({ ...stage, builder }));
  const ids = { imageId: id, name, builder, stages, bakeId: random(operationIdFrom), bakerId: random(sandboxIdFrom) };
  const at = new Date(Date.now() - 60_000).toISOString();
  await mayfly.store.images.create({
    ...done,
    id,
    name,
    builderId,
    stages: (done.stages ?? []).map((stage) => ({ ...stage, builderId })),
    state: 'queued',
    done: 0,
    begin: { ...begin, ...ids },
    updatedAt: at,
  });
  images.own(builderId);
  await reconcile();
  expect(await images.until(id, ({ state }) => isImageFinal(state))).toMatchObject({ state: 'ready', failure: null });
});

test('a build whose workflow is lost in a step fails and leaves no residue', async ({ mayfly, images }) => {
  const dockerfile = 'RUN echo done\nRUN sleep 1000';
  const begun = await images.begin(dockerfile, { secrets: { x: 'eA==' } });
  await images.until(begun.id, ({ done }) => done === 1);
  const { workflow } = all().client;
  await workflow.getHandle(`image/${begun.name}`).terminate('lost by a test');
  for (let rounds = 0; !isImageFinal((await images.get(begun.id)).state); rounds++) {
    if (rounds > 100) throw new Error('it is never said to have failed');
    await reconcile();
  }
  expect(await images.get(begun.id)).toMatchObject({ state: 'failed', done: 1, failure: { code: 'image_failed' } });
  expect(await mayfly.record(begun.builderId)).toMatchObject({ state: 'destroyed' });
  expect(await mayfly.store.imageContexts.get(begun.id)).toBeNull();
  expect(await images.audit(begun)).toEqual([`image.requested ${begun.createdBy.apiKeyId}`, 'image.failed undefined']);
  expect(await mayfly.residue()).toEqual([]);
  const again = await images.build(dockerfile.replace('sleep 1000', 'echo two'));
  expect(again).toMatchObject({ state: 'ready', cached: 1 });
});

// As when the control worker dies between the record of a step and its start. Costs 10 s.
test('a step that the reconciler starts before its build does runs once, and the build continues', async ({
  mayfly,
  images,
}) => {
  const { failpoints, client, store } = all();
  onTestFinished(() => failpoints.arm(undefined));
  const unanswered = 'runCommand.before=error(guest_unreachable)';
  failpoints.arm(`readCreateOutcome.after=error(store_unavailable);${unanswered}`);
  const begun = await images.begin('RUN test ! -e /once && touch /once');
  await mayfly.until(begun.builderId, ({ state }) => state === 'running');
  const reconciliation = new ControlTemporalClient(client);
  const activities = createImageActivities({ store, reconciliation });
  const { commandId } = await activities.beginImageStep({ imageId: begun.id, index: 0 });
  await eventually(async () => {
    await reconcile();
    return reconciliation.isOpen(commandWorkflowIdOf(commandId));
  }, true);
  failpoints.arm(unanswered);
  await eventually(
    async () => (await client.workflow.getHandle(commandWorkflowIdOf(commandId)).fetchHistory()).events ?? [],
    (events) => events.some((event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'subscribe'),
  );
  failpoints.arm(undefined);
  expect(await images.over(begun)).toMatchObject({ state: 'ready', failure: null });
});

test('a build fails at once when its host is decommissioned, not at its timeout', async ({ mayfly, images }) => {
  const begun = await images.begin('RUN sleep 1000');
  await eventually(() => mayfly.store.commands.get(deriveStepCommandId({ imageId: begun.id, index: 0 })), {
    state: 'running',
  });
  await mayfly.host?.stop();
  const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
  await all().sagas.hosts.forget({ hostId: 'test', actor, at: new Date().toISOString() });
  await all().sagas.hosts.forgotten('test', AbortSignal.timeout(60_000));
  expect(await images.get(begun.id)).toMatchObject({ state: 'failed', failure: { code: 'host_forgotten' } });
  await mayfly.startHost();
  await reconcile();
  await mayfly.until(begun.builderId, ({ proof }) => proof !== null && proof.unproved === undefined);
});
