import { expect } from 'vitest';
import { Reconciliation } from '../../../temporal/reconciliation.ts';
import { eventually } from '../../support/eventually.ts';
import type { Run } from '../../support/functions.ts';
import { reconcileOnce } from '../../support/reconcile-once.ts';
import { useSleepingRuns, WAITS } from '../../support/sleeping-runs.ts';

/** Promise: a run whose machine sleeps is never lost silently, whoever dies meanwhile. Costs two minutes. */
const { alone: test, mayfly: all, functions, waitpoints, look, ...sleeping } = useSleepingRuns({ isPolled: false });
const asleep = (wait: object = {}) => sleeping.startSleeping(WAITS, wait);
const ACTOR = { apiKeyId: 'somebody', agentId: null, project: 'default' };

async function expectGoneOnWith(run: Run): Promise<void> {
  await look();
  await sleeping.expectResumed(run);
}

test('the control worker is dead while it is completed: it is woken when that is back', async () => {
  const run = await asleep();
  const waitpoint = await waitpoints.token(run.id, { name: 'it' });
  await all().stopControl();
  expect(await waitpoints.complete(waitpoint, 7)).toEqual({ status: 200 });
  await all().startControl();
  await expectGoneOnWith(run);
});

test('nobody is told of what came: who sends it once more has it told', async () => {
  const run = await asleep();
  const waitpoint = await waitpoints.token(run.id, { name: 'it' });
  await all().store.waitpoints.complete(waitpoint.id, '7', new Date().toISOString(), 0); // as an API does that dies then
  await look();
  expect(await functions.get(run.id)).toMatchObject({ waiting: { hibernatedAt: expect.any(String) } });
  expect(await waitpoints.complete(waitpoint, 7)).toEqual({ status: 200 });
  await expectGoneOnWith(run);
});

test('it is cancelled by somebody who died before telling it', async () => {
  const run = await asleep({ releaseSlot: true });
  const at = new Date(Date.now() - 60_000).toISOString();
  await all().store.runs.wishCancel(run.id, { cancelledBy: ACTOR, updatedAt: at });
  await look();
  expect(await functions.over(run)).toMatchObject({ outcome: 'cancelled', cleanup: 'proved' });
});

test('the life of its sandbox is never shorter than it may sleep', async () => {
  const run = await asleep();
  const sandboxId = run.attempts[0]?.sandboxId ?? '';
  await all().sagas.sandboxes.patch(sandboxId, { ttlSeconds: 600, actor: ACTOR });
  await new Reconciliation(all().client).functions.lookAtWaits(run.id);
  await eventually(
    async () => Date.parse((await all().store.sandboxes.get(sandboxId))?.expiresAt ?? ''),
    (expiresAt) => expiresAt > Date.now() + 29 * 86_400_000,
  );
  await functions.cancel(run.id);
  await functions.over(run);
});

/** The last: the door asks a Temporal that nobody serves any more. */
test('Temporal is wiped while they sleep: one goes on sleeping, and is woken by what comes; one whose cancel was not told ends', async () => {
  const run = await asleep({ releaseSlot: true });
  const waitpoint = await waitpoints.token(run.id, { name: 'it' });
  const cancelled = await asleep();
  await all().store.runs.wishCancel(cancelled.id, { cancelledBy: ACTOR, updatedAt: new Date().toISOString() });
  await all().loseTemporal();
  await reconcileOnce(all().client);
  expect(await functions.over(cancelled)).toMatchObject({ outcome: 'cancelled', cleanup: 'proved' });
  expect(await waitpoints.complete(waitpoint, 7)).toEqual({ status: 200 });
  await expectGoneOnWith(run);
});
