import { expect } from 'vitest';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { eventually } from '../../support/eventually.ts';
import type { Run } from '../../support/functions.ts';
import { reconcileOnce } from '../../support/reconcile-once.ts';
import { useSleepingRuns, WAITS } from '../../support/sleeping-runs.ts';

/** Promise: a run whose machine is hibernated is never lost silently after any death. Costs two minutes. */
const { alone: test, mayfly: all, functions, waitpoints, look, ...sleeping } = useSleepingRuns({ isPolled: false });
const asleep = (wait: object = {}) => sleeping.startSleeping(WAITS, wait);
const ACTOR = { apiKeyId: 'somebody', agentId: null, project: 'default' };

async function expectGoneOnWith(run: Run): Promise<void> {
  await look();
  await sleeping.expectResumed(run);
}

test('a completion while the control worker is dead wakes the run when it returns', async () => {
  const run = await asleep();
  const waitpoint = await waitpoints.token(run.id, { name: 'it' });
  await all().stopControl();
  expect(await waitpoints.complete(waitpoint, 7)).toEqual({ status: 200 });
  await all().startControl();
  await expectGoneOnWith(run);
});

test('a completion without a notification is delivered when it is repeated', async () => {
  const run = await asleep();
  const waitpoint = await waitpoints.token(run.id, { name: 'it' });
  await all().store.waitpoints.complete(waitpoint.id, '7', new Date().toISOString(), 0); // as by an API that dies then
  await look();
  expect(await functions.get(run.id)).toMatchObject({ waiting: { hibernatedAt: expect.any(String) } });
  expect(await waitpoints.complete(waitpoint, 7)).toEqual({ status: 200 });
  await expectGoneOnWith(run);
});

test('a cancel without a notification is found by a poll', async () => {
  const run = await asleep({ releaseSlot: true });
  const at = new Date(Date.now() - 60_000).toISOString();
  await all().store.runs.wishCancel(run.id, { cancelledBy: ACTOR, updatedAt: at });
  await look();
  expect(await functions.over(run)).toMatchObject({ outcome: 'cancelled', cleanup: 'proved' });
});

test('the TTL of its sandbox is never shorter than its longest suspension', async () => {
  const run = await asleep();
  const sandboxId = run.attempts[0]?.sandboxId ?? '';
  await all().sagas.sandboxes.patch(sandboxId, { ttlSeconds: 600, actor: ACTOR });
  await new ControlTemporalClient(all().client).functions.lookAtWaits(run.id);
  await eventually(
    async () => Date.parse((await all().store.sandboxes.get(sandboxId))?.expiresAt ?? ''),
    (expiresAt) => expiresAt > Date.now() + 29 * 86_400_000,
  );
  await functions.cancel(run.id);
  await functions.over(run);
});

/** Last: the API of the harness uses the lost Temporal from here on. */
test('Temporal is wiped: a suspended run stays suspended and can be completed; one with an unsent cancel ends', async () => {
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
