import mongoose from 'mongoose';
import { expect } from 'vitest';
import { runWorkflowId } from '../../../model/functions/run-saga.ts';
import { useTestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { type Run, TestFunctions } from '../../support/functions.ts';
import { valuesInHistory } from '../../support/history-values.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { TestWaitpoints } from '../../support/waitpoints.ts';

/**
 * Promise: a waiting run is never lost silently after any death, and its token is stored nowhere. Costs two minutes.
 */
const { alone: test, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);
const waitpoints = new TestWaitpoints(door);

const isWaiting = ({ waitingFor }: Run) => waitingFor === 'waitpoint';
const WAITS = 'echo before; "$MAYFLY_WAIT" it; echo after';

async function waiting(command = WAITS, more: object = {}): Promise<Run> {
  const run = await functions.trigger(await functions.deploy(command, more));
  return functions.until(run.id, isWaiting);
}

test('a completion while all workers are dead: the process continues when they return, with one start', async () => {
  const run = await waiting();
  const waitpoint = await waitpoints.token(run.id, { name: 'it' });
  await all().host?.stop();
  await all().stopControl();
  expect(await waitpoints.complete(waitpoint, 'data')).toEqual({ status: 200 });
  await all().startControl();
  await all().startHost();
  expect(await functions.over(run)).toMatchObject({ outcome: 'succeeded', cleanup: 'proved', attempts: [{ n: 1 }] });
  expect(await functions.output(run.id)).toBe('before\n"data"\nafter\n');
});

test('an expiry while all workers are dead: the process is notified when they return', async () => {
  const run = await waiting('"$MAYFLY_WAIT" it --timeout 5; echo "exit code $?"');
  const waitpoint = await waitpoints.token(run.id, { name: 'it' });
  await all().host?.stop();
  await eventually(() => waitpoints.list(run.id), { 0: { state: 'expired' } });
  expect(await waitpoints.complete(waitpoint, 1)).toMatchObject({ status: 410 });
  await all().startHost();
  await functions.over(run);
  expect(await functions.output(run.id)).toBe('exit code 75\n');
});

test('a second attempt gets the data of the first, and does not wait again', async () => {
  const command = 'echo "attempt $MAYFLY_ATTEMPT"; "$MAYFLY_WAIT" it; [ $MAYFLY_ATTEMPT = 2 ] || exit 75';
  const retry = { maxAttempts: 2, backoff: { initialSeconds: 0 } };
  const run = await waiting(command, { idempotent: true, retry });
  await waitpoints.complete(await waitpoints.token(run.id, { name: 'it' }), { n: 1 });
  const over = await functions.over(run);
  expect(over).toMatchObject({ outcome: 'succeeded', attempts: [{ n: 1 }, { n: 2 }] });
  expect(await functions.output(run.id)).toBe('attempt 2\n{"n":1}\n');
  expect(await waitpoints.list(run.id)).toHaveLength(1);
});

test('a loss of its machine: a waiting run ends as unknown, with a reason (case 56)', async () => {
  const run = await waiting('"$MAYFLY_WAIT" it --timeout 259200', { timeoutSeconds: 600_000 });
  const waitpoint = await waitpoints.token(run.id, { name: 'it' });
  await all().destroy({ ...all().input(), id: run.attempts[0]?.sandboxId ?? '' });
  const over = await functions.over(run);
  expect(over).toMatchObject({ outcome: 'unknown', cleanup: 'proved', waitingFor: null });
  expect(over.failure).toMatchObject({ code: 'run_interrupted', message: expect.stringMatching(/\S/) });
  expect(await waitpoints.complete(waitpoint, 1)).toEqual({ status: 410, code: 'waitpoint_expired' });
});

test('a guest that registers too many waitpoints, or invalid names, is limited to valid ones', async () => {
  const command = [
    'cd "$MAYFLY_WAITPOINTS"; for i in $(seq 1 150); do : > "a$i.ask-600"; done',
    ': > "../b.ask-1"; : > "B.ask-1"; mkdir c.ask-1; ln -s /etc/passwd d.ask-1; mkfifo e.ask-1; : > "f.ask-9999999"; : > ok.data',
    'rm -rf "$MAYFLY_WAITPOINTS.old"; sleep 1000',
  ].join('\n');
  const run = await functions.trigger(await functions.deploy(command));
  const list = await eventually(
    () => waitpoints.list(run.id),
    (found) => found.length >= 100,
  );
  expect(list).toHaveLength(100);
  expect(list.every(({ name }) => /^a\d+$/.test(name))).toBe(true);
  const full = await waitpoints.ask(run.id, { name: 'one-more' });
  expect([full.status, full.headers.get('X-Mayfly-Code')]).toEqual([409, 'waitpoints_full']);
  await functions.cancel(run.id);
  await functions.over(run);
});

test('a symlink that replaces the waitpoint folder does not redirect writes', async () => {
  const command =
    'd=$(mktemp -d); rm -r "$MAYFLY_WAITPOINTS"; ln -s $d "$MAYFLY_WAITPOINTS"; echo linked; sleep 12; ls $d; rm -r $d';
  const run = await functions.trigger(await functions.deploy(command));
  await eventually(() => functions.output(run.id).catch(() => ''), /linked/);
  await waitpoints.complete(await waitpoints.token(run.id, { name: 'it' }), 1);
  expect(await functions.over(run)).toMatchObject({ outcome: 'succeeded' });
  expect(await functions.output(run.id)).toBe('linked\n');
});

test('a token and its data are in no Temporal history and not in the store, also after the run', async () => {
  const canary = 'canary-0123456789';
  const run = await waiting();
  const waitpoint = await waitpoints.token(run.id, { name: 'it' });
  const secret = waitpoint.token.slice(-43);
  expect(await waitpoints.complete(waitpoint, canary)).toEqual({ status: 200 });
  await functions.over(run);
  const shown = [await door.call('GET', `/v1/runs/${run.id}`), await door.call('GET', `/v1/runs/${run.id}/audit`)];
  for (const each of shown) expect(await each.text()).not.toContain(secret);
  const values = await valuesInHistory(all().client, runWorkflowId(run.id));
  expect(JSON.stringify(values)).toContain('"it"'); // the name is
  const database = await mongoose.createConnection(all().config.mongodbUri ?? '').asPromise();
  const stored: string[] = [];
  for (const { name } of (await database.db?.listCollections().toArray()) ?? []) {
    stored.push(JSON.stringify(await database.collection(name).find().toArray()));
  }
  await database.close();
  const texts = [JSON.stringify(values), ...stored];
  expect(stored.some((text) => text.includes(waitpoint.id))).toBe(true);
  for (const text of texts) expect([text.includes(secret), text.includes(canary)]).toEqual([false, false]);
});
