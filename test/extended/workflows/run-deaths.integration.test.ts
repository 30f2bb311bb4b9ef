import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { pino } from 'pino';
import { expect } from 'vitest';
import { createDispatchActivities } from '../../../activities/function/queue/dispatch.ts';
import { deriveAttemptIds } from '../../../model/functions/run.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { QUEUE_POLL_MS, RunQueuePoller } from '../../../worker/upkeep/functions/run-queues.ts';
import { TestDoor, useTestDoor } from '../../support/door.ts';
import { eventually, stableValue } from '../../support/eventually.ts';
import { TestFunctions } from '../../support/functions.ts';
import { delayFault } from '../../support/passage-of-time.ts';
import { reconcileOnce } from '../../support/reconcile-once.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { useDatabase } from '../../support/use-database.ts';

/**
 * Promise: after any death an accepted event has one run, an attempt one process, and only a proof frees a slot. Costs
 * a minute.
 */
const { alone: test, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);
const collection = useDatabase(all);

const reconciliation = () => new ControlTemporalClient(all().client);
const queues = () => new RunQueuePoller(all().store, reconciliation(), pino({ level: 'silent' }));
const HOLDS = 'echo hello; sleep 1000';

/** Replaces one method of an object. */
function except<T extends object, K extends keyof T>(whole: T, method: K, instead: T[K]): T {
  return new Proxy(whole, {
    get: (target, name) => {
      const value: unknown = name === method ? instead : Reflect.get(target, name, target);
      return typeof value === 'function' && name !== method ? value.bind(target) : value;
    },
  });
}

test('a damaged record of a run that holds the only slot: its sandbox ends, and the next run starts', async () => {
  const name = await functions.deploy(HOLDS, { concurrency: [{ limit: 1 }] });
  const run = await functions.trigger(name);
  const { attempts } = await functions.greets(run.id);
  const next = await functions.trigger(name);
  const found = await collection('runs').findOne({ _id: run.id });
  const event = found?.['event'];
  if (!(event instanceof mongoose.mongo.Binary)) throw new Error('its event is not encrypted');
  const buffer = Buffer.from(event.buffer);
  buffer[buffer.length - 1] = (buffer[buffer.length - 1] ?? 0) ^ 1;
  await collection('runs').updateOne(
    { _id: run.id },
    { $set: { event: new mongoose.mongo.Binary(buffer, event.sub_type) } },
  );
  await reconcileOnce(all().client);
  await functions.until(next.id, ({ state }) => state === 'running');
  expect(await all().record(attempts[0]?.sandboxId ?? '')).toMatchObject({
    state: 'destroyed',
    proof: expect.anything(),
  });
  expect(await collection('runs').findOne({ _id: run.id })).toMatchObject({ state: 'ended', cleanup: 'proved' });
  await functions.cancel(next.id);
  await functions.over(next);
});

test('1: the API is killed between insert and response: the same key returns the same run, started once', async () => {
  const name = await functions.deploy('echo hello');
  const { store, sagas } = all();
  let stored: string | null = null;
  const accept: typeof store.runs.accept = async (run, event) => {
    await store.runs.accept(run, event);
    stored = run.id;
    return new Promise(() => {}); // it is dead
  };
  const next = await TestDoor.open({ store, sagas });
  const dying = await TestDoor.open(
    { store: { ...store, runs: except(store.runs, 'accept', accept) }, sagas },
    next.secret,
  );
  const key = { 'Idempotency-Key': 'once' };
  void new TestFunctions(dying).post(name, { n: 1 }, key);
  const id = await eventually(
    async () => stored,
    (one): one is string => one !== null,
  );
  const again = await (await new TestFunctions(next).post(name, { n: 1 }, key)).json();
  expect(again).toMatchObject({ id });
  expect(await functions.over({ id })).toMatchObject({ outcome: 'succeeded', attempts: [{ n: 1 }] });
  expect(await functions.output(id)).toBe('hello\n');
  next.close();
  dying.close();
});

test('2: the API is killed before it wakes the dispatcher: the next poll of the queues starts the run', async () => {
  const name = await functions.deploy('echo hello');
  const { store, sagas } = all();
  const functionsOf = except(sagas.functions, 'wakeDispatcher', () => new Promise(() => {}));
  const silent = except(sagas, 'functions', functionsOf);
  const dying = await TestDoor.open({ store, sagas: silent });
  const { id } = await new TestFunctions(dying).trigger(name);
  expect((await functions.get(id)).state).toBe('queued');
  await queues().look();
  expect(QUEUE_POLL_MS).toBeLessThan(10_000);
  expect(await functions.over({ id })).toMatchObject({ outcome: 'succeeded' });
  dying.close();
});

test('7: the host worker is killed between a start and its record: the process is found, not started again', async ({
  mayfly,
}) => {
  const name = await functions.deploy('echo hello; sleep 3; echo 1 > $MAYFLY_RESULT');
  await functions.pause(name);
  const { id } = await functions.trigger(name);
  const { commandId } = deriveAttemptIds(id, 1);
  mayfly.arm('beginRunCommand.after=delay(1000)', id);
  await functions.resume(name);
  const find = (from: string) => collection(from).findOne({ _id: commandId });
  const kept = await eventually(
    () => Promise.all([find('commands'), find('launches')]),
    ([command, launch]) => command !== null && launch !== null,
  );
  await functions.greets(id);
  await all().host?.stop();
  for (const [n, from] of ['commands', 'launches'].entries()) {
    await collection(from).replaceOne({ _id: commandId }, kept[n] ?? {}, { upsert: true });
  }
  await all().startHost();
  expect(await functions.over({ id })).toMatchObject({ outcome: 'succeeded', attempts: [{ n: 1 }] });
  expect(await functions.output(id)).toBe('hello\n');
});

test('18: a cancel at the instant of the natural end: one outcome, the one of the guest', async () => {
  const name = await functions.deploy('echo hello; sleep 0.4; echo 1 > $MAYFLY_RESULT');
  const runs = await Promise.all([0, 1, 2, 3].map(() => functions.trigger(name)));
  await Promise.all(
    runs.map(async ({ id }, n) => {
      await functions.greets(id);
      await delayFault(n * 150);
      await functions.cancel(id);
    }),
  );
  for (const run of runs) {
    const over = await functions.over(run);
    const seen = await all().store.commands.get(over.attempts[0]?.commandId ?? '');
    const expected = seen?.outcome === 'exited' ? 'succeeded' : seen?.outcome;
    expect(over).toMatchObject({ outcome: expected, exitCode: seen?.exitCode, cleanup: 'proved' });
    await functions.cancel(over.id);
    expect(await functions.get(over.id)).toEqual(over);
  }
});

/** Returns the last write of a file in a simulated sandbox, in ms; 0 without one. */
async function writtenAt(sandboxId: string, file: string): Promise<number> {
  const folder = join(all().config.stateDir, 'sandboxes', sandboxId);
  const names = await readdir(folder, { recursive: true });
  const name = names.find((each) => each.endsWith(`/${file}`));
  return name === undefined ? 0 : (await stat(join(folder, name))).mtimeMs;
}

test('20: a process ends in time while all workers are down, and its outcome is timed-out afterwards', async () => {
  const beats = "trap '' TERM; echo hello; while :; do date > beat; sleep 0.1; done";
  const { id } = await functions.trigger(await functions.deploy(beats, { timeoutSeconds: 5 }));
  const { attempts } = await functions.greets(id);
  const sandboxId = attempts[0]?.sandboxId ?? '';
  await all().host?.stop();
  await all().stopControl();
  const beatAt = () => writtenAt(sandboxId, 'beat');
  await eventually(beatAt, (at) => at > 0);
  await stableValue(beatAt); // a living process would write ten times in that time
  await all().startControl();
  await all().startHost();
  expect(await functions.over({ id })).toMatchObject({ outcome: 'timed-out', cleanup: 'proved', attempts: [{ n: 1 }] });
});

test('21: limit 1, and the host of its holder is away: the key waits for the proof, despite all requests', async () => {
  const concurrency = [{ limit: 1, key: '/k' }];
  const name = await functions.deploy(HOLDS, { concurrency });
  const holder = await functions.trigger(name, { k: 1 });
  await functions.greets(holder.id);
  await all().host?.stop();
  const waiting = await functions.trigger(name, { k: 1 });
  await functions.cancel(holder.id);
  const dispatch = createDispatchActivities({ store: all().store, reconciliation: reconciliation() });
  for (let look = 0; look < 5; look++) {
    await dispatch.admitRuns({ project: 'default', name, after: '' });
    await queues().look();
  }
  expect(await functions.get(waiting.id)).toMatchObject({ state: 'queued', waitingFor: 'concurrency' });
  expect(await functions.get(holder.id)).toMatchObject({ state: 'running' });
  await all().startHost();
  expect(await functions.over(holder)).toMatchObject({ cleanup: 'proved' });
  await functions.greets(waiting.id);
  const [first, second] = [await functions.get(holder.id), await functions.get(waiting.id)];
  const proof = (await all().record(first.attempts[0]?.sandboxId ?? '')).proof;
  expect(Date.parse(second.admittedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(proof?.provedAt ?? ''));
  await functions.cancel(waiting.id);
  await functions.over(waiting);
});

test('31: an event that kills its machine each time ends after maxAttempts, without effect on other functions', async () => {
  const retry = { maxAttempts: 3, backoff: { initialSeconds: 0 } };
  const poisoned = await functions.trigger(await functions.deploy(HOLDS, { idempotent: true, retry }));
  const neighbours = await functions.deploy('echo hello');
  const others = await Promise.all([1, 2].map((n) => functions.trigger(neighbours, { n })));
  for (const n of [1, 2, 3]) {
    await functions.until(poisoned.id, ({ attempts }) => attempts.length === n);
    const { attempts } = await functions.greets(poisoned.id);
    await all().destroy({ ...all().input(), id: attempts[n - 1]?.sandboxId ?? '' });
  }
  const over = await functions.over(poisoned);
  expect(over).toMatchObject({ outcome: 'unknown', cleanup: 'proved' });
  expect(over.attempts.map(({ outcome, cleanup }) => [outcome, cleanup])).toEqual(
    [1, 2, 3].map(() => ['unknown', 'proved']),
  );
  for (const other of others) expect(await functions.over(other)).toMatchObject({ outcome: 'succeeded' });
});

test('60: Temporal is wiped: queued runs start, active runs continue with one process, and no residue remains', async () => {
  const name = await functions.deploy('echo hello; sleep 5; echo 1 > $MAYFLY_RESULT', {
    concurrency: [{ limit: 1 }],
  });
  const running = await functions.trigger(name, { n: 1 });
  await functions.greets(running.id);
  const waiting = await functions.trigger(name, { n: 2 });
  await all().loseTemporal();
  await reconcileOnce(all().client, 100);
  const isOver = async () => {
    await queues().look(); // as the control worker does each second
    return Promise.all([running, waiting].map(({ id }) => functions.get(id)));
  };
  const over = await eventually(isOver, (runs) => runs.every(({ cleanup }) => cleanup === 'proved'));
  for (const run of over) {
    expect(run).toMatchObject({ outcome: 'succeeded', result: { bytes: 2 }, attempts: [{ n: 1 }] });
    expect(await functions.output(run.id)).toBe('hello\n');
  }
  expect(await all().residue()).toEqual([]);
});
