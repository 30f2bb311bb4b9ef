import { pino } from 'pino';
import { afterAll, beforeAll, expect } from 'vitest';
import { Reconciliation } from '../../../sagas/reconciliation.ts';
import { RunQueues } from '../../../worker/upkeep/run-queues.ts';
import { TestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { type Run, TestFunctions } from '../../support/functions.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { letSleep } from '../../support/sleeping-host.ts';
import { TestWaitpoints } from '../../support/waitpoints.ts';

/** Promise: a run whose machine sleeps is never lost silently, whoever dies meanwhile. Costs two minutes. */
const { alone: test, mayfly: all } = useSagaCases();
let door: TestDoor;
let functions: TestFunctions;
let waitpoints: TestWaitpoints;
const sleepy = () => letSleep(all().machine().hypervisor, all().failpoints);
beforeAll(async () => {
  sleepy();
  door = await TestDoor.open(all());
  functions = new TestFunctions(door);
  waitpoints = new TestWaitpoints(door);
});
afterAll(() => door.close());

const ACTOR = { apiKeyId: 'somebody', agentId: null, project: 'default' };
const WAITS = 'echo before $$; "$MAYFLY_WAIT" it; echo after $$';
const look = () => new RunQueues(all().store, new Reconciliation(all().client), pino({ level: 'silent' })).look();

async function asleep(wait: object = {}): Promise<Run> {
  const name = await functions.deploy(WAITS, { wait: { hibernateAfterSeconds: 1, ...wait } });
  const { id } = await functions.trigger(name);
  const run = await functions.until(id, ({ state, waiting }) => state === 'ended' || waiting?.hibernatedAt != null);
  expect(run).toMatchObject({ state: 'running' });
  await all().until(run.attempts[0]?.sandboxId ?? '', ({ state }) => state === 'hibernated');
  return run;
}
/** It goes on where it was, once. */
async function expectGoneOnWith(run: Run): Promise<void> {
  await look();
  const over = await functions.over(run);
  expect(over).toMatchObject({ outcome: 'succeeded', cleanup: 'proved', attempts: [{ n: 1 }] });
  const said = /^before (\d+)\n7\nafter (\d+)\n$/.exec(await functions.output(run.id));
  expect(said?.[1]).toBe(said?.[2]);
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
  await all().sagas.patch(sandboxId, { ttlSeconds: 600, actor: ACTOR });
  await new Reconciliation(all().client).lookAtWaits(run.id);
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
  sleepy();
  const args = [{ graceMs: 0 }];
  await all().client.workflow.execute('reconcileOnce', {
    workflowId: 'reconcile-it',
    taskQueue: 'mayfly-control',
    args,
  });
  expect(await functions.over(cancelled)).toMatchObject({ outcome: 'cancelled', cleanup: 'proved' });
  expect(await waitpoints.complete(waitpoint, 7)).toEqual({ status: 200 });
  await expectGoneOnWith(run);
});
