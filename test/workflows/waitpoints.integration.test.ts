import { describe, expect } from 'vitest';
import { useTestDoor } from '../support/door.ts';
import { eventually } from '../support/eventually.ts';
import { type Run, TestFunctions } from '../support/functions.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { TestWaitpoints } from '../support/waitpoints.ts';

/** Guards: data for a waitpoint reaches its process once, in any order, and through no network of the guest. */
const { test, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);
const waitpoints = new TestWaitpoints(door);

const isWaiting = ({ waitingFor }: Run) => waitingFor === 'waitpoint';

describe.concurrent('a waiting process', () => {
  test('resumes where it was, with the first data (case 57)', async () => {
    const name = await functions.deploy('echo before; "$MAYFLY_WAIT" approval > $MAYFLY_RESULT; echo after');
    const run = await functions.trigger(name);
    await functions.until(run.id, isWaiting);
    expect(await waitpoints.list(run.id)).toMatchObject([
      { name: 'approval', state: 'open', createdBy: null, askedAt: expect.any(String) },
    ]);
    const [first, second] = [
      await waitpoints.token(run.id, { name: 'approval' }),
      await waitpoints.token(run.id, { name: 'approval' }),
    ];
    expect(first.token).not.toBe(second.token);
    expect(await waitpoints.complete(first, { by: 'ann', ok: true })).toEqual({ status: 200 });
    expect(await waitpoints.complete(second, { ok: true, by: 'ann' })).toEqual({ status: 200 });
    expect(await waitpoints.complete(second, { by: 'bob' })).toEqual({ status: 409, code: 'waitpoint_completed' });
    const over = await functions.over(run);
    expect(over).toMatchObject({ outcome: 'succeeded', cleanup: 'proved', waitingFor: null, attempts: [{ n: 1 }] });
    expect(await functions.output(run.id)).toBe('before\nafter\n');
    expect(await (await functions.result(run.id)).json()).toEqual({ by: 'ann', ok: true });
    expect(await waitpoints.complete(first, { by: 'ann', ok: true })).toEqual({ status: 200 });
    expect((await waitpoints.ask(run.id, { name: 'other' })).status).toBe(409);
  });

  test('resumes at once when the data precedes the wait (case 57)', async () => {
    const name = await functions.deploy(
      'cd "$MAYFLY_WAITPOINTS"; until [ -f default.data ]; do sleep 0.1; done; "$MAYFLY_WAIT"',
    );
    await functions.pause(name);
    const run = await functions.trigger(name);
    const waitpoint = await waitpoints.token(run.id);
    expect(waitpoint).toMatchObject({ name: 'default', createdBy: { project: 'default' }, askedAt: null });
    expect(await waitpoints.complete(waitpoint, [1, 'two', null])).toEqual({ status: 200 });
    await functions.resume(name);
    expect(await functions.over(run)).toMatchObject({ outcome: 'succeeded' });
    expect(await functions.output(run.id)).toBe('[1,"two",null]\n');
  });

  test('learns that its waitpoint has expired', async () => {
    const name = await functions.deploy('"$MAYFLY_WAIT" late --timeout 1; echo "exit code $?"');
    const run = await functions.run(name);
    expect(await functions.output(run.id)).toBe('exit code 75\n');
    expect(run).toMatchObject({ outcome: 'succeeded', waitingFor: null });
    expect(await waitpoints.list(run.id)).toMatchObject([{ name: 'late', state: 'expired' }]);
  });

  test('is ended by a cancel, without residue (case 17)', async () => {
    const run = await functions.trigger(await functions.deploy('"$MAYFLY_WAIT" never; echo woken'));
    await functions.until(run.id, isWaiting);
    const waitpoint = await waitpoints.token(run.id, { name: 'never' });
    await functions.cancel(run.id);
    const over = await functions.over(run);
    expect(over).toMatchObject({ outcome: 'cancelled', cleanup: 'proved', waitingFor: null });
    expect(await functions.output(run.id)).toBe('');
    expect(await all().store.sandboxes.get(over.attempts[0]?.sandboxId ?? '')).toMatchObject({ state: 'destroyed' });
    expect(await waitpoints.complete(waitpoint, 1)).toEqual({ status: 410, code: 'waitpoint_expired' });
  });
});

test('a token is valid for its own waitpoint alone, until it expires', async () => {
  const name = await functions.deploy('true');
  await functions.pause(name);
  const { id } = await functions.trigger(name);
  const [one, other] = [await waitpoints.token(id, { name: 'one' }), await waitpoints.token(id, { name: 'other' })];
  const forged = one.token.replace(one.id.slice(3), other.id.slice(3));
  expect(forged).not.toBe(one.token);
  for (const token of [forged, one.token.slice(0, -1), 'x', other.id]) {
    expect(await waitpoints.complete({ path: `/v1/waitpoints/${token}` }, 1)).toEqual({
      status: 404,
      code: 'waitpoint_not_found',
    });
  }
  const brief = await waitpoints.token(id, { name: 'brief', timeoutSeconds: 1 });
  await eventually(
    () => waitpoints.list(id),
    (list) => list.find((each) => each.name === 'brief')?.state === 'expired',
  );
  expect(await waitpoints.complete(brief, 1)).toEqual({ status: 410, code: 'waitpoint_expired' });
  expect((await waitpoints.ask(id, { name: 'brief', timeoutSeconds: 60 })).status).toBe(410);
  expect((await waitpoints.ask(id, { name: 'Not a name' })).status).toBe(422);
  expect((await waitpoints.ask(id, { unknown: 1 })).status).toBe(422);
  for (const body of [{}, { data: 1, more: 2 }, [1]]) {
    const headers = { 'Content-Type': 'application/json' };
    const refused = await door.app.request(one.path, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(refused.status).toBe(422);
  }
  const large = await door.app.request(one.path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ data: 'x'.repeat(70_000) }),
  });
  expect(large.status).toBe(413);
  await functions.cancel(id);
});
