import { describe, expect } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { useSleepingRuns, WAITS } from '../../support/sleeping-runs.ts';

/**
 * Promise: the machine of a waiting run is hibernated and continues where it stopped; its function defines the use of
 * time and slots.
 */
const {
  test,
  mayfly: all,
  door,
  functions,
  waitpoints,
  sandboxOf,
  awaitSleep,
  startSleeping,
  complete,
  countSleeps,
  expectResumed,
} = useSleepingRuns();
const SOON = { hibernateAfterSeconds: 1 };

describe.concurrent('a run that waits', () => {
  test('has its machine hibernated, and continues where it stopped, with the data', async () => {
    const run = await startSleeping();
    expect(run).toMatchObject({ state: 'running', waitingFor: 'waitpoint', waiting: { slot: 'held', failure: null } });
    await complete(run, { ok: true });
    const over = await expectResumed(run, '{"ok":true}');
    expect(await countSleeps(over)).toEqual([1, 1]);
    expect(over.waiting).toMatchObject({ since: null, hibernatedAt: null });
  });

  test('is not hibernated when the data arrives soon, or when no process waits at the waitpoint', async () => {
    const name = await functions.deploy(`sleep 5; ${WAITS}`, { wait: { hibernateAfterSeconds: 3 } });
    const run = await functions.trigger(name);
    await waitpoints.token(run.id, { name: 'it' });
    await functions.until(run.id, ({ waitingFor }) => waitingFor === 'waitpoint');
    await complete(run, 1);
    expect(await countSleeps(await functions.over(run))).toEqual([0, 0]);
  });

  test('is cancelled while its machine is hibernated: it is not woken, and leaves no residue', async () => {
    const run = await startSleeping();
    const waitpoint = await waitpoints.token(run.id, { name: 'it' });
    await functions.cancel(run.id);
    const over = await functions.over(run);
    expect(over).toMatchObject({ outcome: 'cancelled', cleanup: 'proved', failure: null, waitingFor: null });
    expect(await functions.output(run.id)).toMatch(/^before \d+\n$/);
    expect(await countSleeps(over)).toEqual([1, 0]);
    expect(await all().record(sandboxOf(over))).toMatchObject({ state: 'destroyed', failure: null });
    expect(await waitpoints.complete(waitpoint, 1)).toEqual({ status: 410, code: 'waitpoint_expired' });
  });

  test('with running time ends as timed-out while its machine is hibernated, without a wake', async () => {
    const run = await startSleeping(WAITS, {}, { timeoutSeconds: 20 });
    const over = await functions.over(run);
    expect(over).toMatchObject({ outcome: 'timed-out', cleanup: 'proved', failure: { code: 'run_timed_out' } });
    expect(await countSleeps(over)).toEqual([1, 0]);
  });

  test('with stopped time keeps exactly its remaining time', async () => {
    const command = '"$MAYFLY_WAIT" it --timeout 12; echo $?; sleep 1000';
    const run = await startSleeping(command, { time: 'stops' }, { timeoutSeconds: 10, graceSeconds: 1 });
    const over = await functions.over(run);
    expect(over).toMatchObject({ outcome: 'timed-out', cleanup: 'proved', failure: { code: 'run_timed_out' } });
    expect(await functions.output(run.id)).toBe('75\n');
    const took = Date.parse(over.endedAt ?? '') - Date.parse(over.attempts[0]?.startedAt ?? '');
    expect(took).toBeGreaterThan(18_000); // 10 s of its own, and more than 8 of waiting
    expect(await countSleeps(over)).toEqual([1, 1]);
  });

  test('waits again, and for two waitpoints at once: it resumes with the first, and stays awake', async () => {
    const command = [
      '"$MAYFLY_WAIT" one; "$MAYFLY_WAIT" two',
      '"$MAYFLY_WAIT" a & "$MAYFLY_WAIT" b & wait -n 2>/dev/null || until [ -f "$MAYFLY_WAITPOINTS/a.data" ]; do sleep 0.1; done',
      'for i in 1 2 3 4 5 6; do sleep 1; echo at work; done; wait',
    ].join('\n');
    const run = await startSleeping(command);
    await complete(run, 1, 'one');
    await functions.until(run.id, ({ waiting }) => waiting?.hibernatedAt == null);
    await awaitSleep(run);
    await complete(run, 2, 'two');
    await functions.until(run.id, ({ waiting }) => waiting?.hibernatedAt == null);
    await awaitSleep(run);
    await complete(run, 'a', 'a');
    await eventually(
      () => functions.output(run.id),
      (text) => text.split('at work').length >= 7,
    );
    await complete(run, 'b', 'b');
    const over = await functions.over(run);
    expect(over).toMatchObject({ outcome: 'succeeded' });
    expect(await countSleeps(over)).toEqual([3, 3]);
  });

  test('gets the expiry of its waitpoint, also while hibernated', async () => {
    const run = await startSleeping('"$MAYFLY_WAIT" it --timeout 15; echo "exit code $?"');
    expect(await functions.over(run)).toMatchObject({ outcome: 'succeeded' });
    expect(await functions.output(run.id)).toBe('exit code 75\n');
  });

  test('whose machine cannot be hibernated keeps waiting, and its token works', async ({ mayfly }) => {
    const name = await functions.deploy(WAITS, { wait: { hibernateAfterSeconds: 3 } });
    const run = await functions.trigger(name);
    const { attempts } = await functions.until(run.id, ({ waitingFor }) => waitingFor === 'waitpoint');
    mayfly.arm('hibernate.before=error(host_disk_full)', attempts[0]?.sandboxId ?? '');
    const awake = await functions.until(run.id, ({ waiting }) => waiting?.failure != null);
    expect(awake).toMatchObject({
      waitingFor: 'waitpoint',
      waiting: { hibernatedAt: null, slot: 'held', failure: { code: 'host_disk_full' } },
    });
    await complete(run, 1);
    expect(await functions.over(run)).toMatchObject({ outcome: 'succeeded' });
    mayfly.arm(undefined, attempts[0]?.sandboxId ?? '');
  });

  test('continues with data that arrives during the hibernate', async ({ mayfly }) => {
    const name = await functions.deploy(WAITS, { wait: { hibernateAfterSeconds: 3 } });
    const run = await functions.trigger(name);
    const { attempts } = await functions.until(run.id, ({ waitingFor }) => waitingFor === 'waitpoint');
    mayfly.arm('hibernate.after=delay(1500)', attempts[0]?.sandboxId ?? '');
    await functions.until(run.id, ({ waiting }) => waiting?.hibernatedAt != null);
    await complete(run, 1);
    const over = await functions.over(run);
    expect(over).toMatchObject({ outcome: 'succeeded' });
    expect(await countSleeps(over)).toEqual([1, 1]);
    mayfly.arm(undefined, attempts[0]?.sandboxId ?? '');
  });
});

describe.concurrent('slots of a suspended run', () => {
  const command = 'case "$(cat)" in *waits*) "$MAYFLY_WAIT" it ;; *) "$MAYFLY_WAIT" go ;; esac; echo done';
  const rules = { concurrency: [{ limit: 1 }] };

  test('are released to others, and reacquired before those of later runs', async () => {
    const name = await functions.deploy(command, { wait: { ...SOON, releaseSlot: true }, ...rules });
    const waits = await awaitSleep(await functions.trigger(name, 'waits'));
    await functions.until(waits.id, ({ waiting }) => waiting?.slot === 'released');
    await functions.deployAs(name, command, { wait: { hibernateAfterSeconds: null }, ...rules });
    const second = await functions.trigger(name, 'second');
    await functions.until(second.id, ({ waitingFor }) => waitingFor === 'waitpoint');
    const third = await functions.trigger(name, 'third');
    await complete(waits, 1);
    await functions.until(waits.id, ({ waiting }) => waiting?.slot === 'queued');
    expect(await functions.get(waits.id)).toMatchObject({ state: 'running', waitingFor: 'concurrency' });
    expect(await countSleeps(waits)).toEqual([1, 0]);
    await complete(second, 1, 'go');
    const [first, next] = [await functions.over(waits), await functions.over(second)];
    expect([first.outcome, next.outcome]).toEqual(['succeeded', 'succeeded']);
    await functions.until(third.id, ({ waitingFor }) => waitingFor === 'waitpoint');
    expect(Date.parse((await functions.get(third.id)).admittedAt ?? '')).toBeGreaterThan(
      Date.parse(first.endedAt ?? ''),
    );
    await complete(third, 1, 'go');
    expect(await functions.over(third)).toMatchObject({ outcome: 'succeeded' });
  });

  test('are not released without hibernation, which a deploy refuses', async () => {
    const wish = { source: 'golden-debian12', command, wait: { hibernateAfterSeconds: null, releaseSlot: true } };
    expect((await door.call('PUT', '/v1/functions/none', wish)).status).toBe(422);
  });
});
