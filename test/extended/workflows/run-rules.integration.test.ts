import { expect } from 'vitest';
import { useTestDoor } from '../../support/door.ts';
import { TestFunctions } from '../../support/functions.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { useRunQueues } from '../../support/sleeping-runs.ts';

/** The rules of a queue, with whole runs. */
const { test, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);
useRunQueues(all);

test('of three events at once the last one runs; the others are cancelled and proved gone before it begins, or skipped (case 24)', async () => {
  const concurrency = [{ limit: 1, onFull: 'cancel-running' }];
  const name = await functions.deploy('case "$(cat)" in *last*) ;; *) sleep 1000 ;; esac', { concurrency });
  const first = await functions.trigger(name, { n: 1 });
  await functions.until(first.id, ({ state }) => state === 'running');
  const second = await functions.trigger(name, { n: 2 });
  const last = await functions.trigger(name, { n: 'last' });
  const over = await functions.over(last);
  expect(over).toMatchObject({ outcome: 'succeeded', skippedFor: null, cleanup: 'proved' });
  for (const { id } of [first, second]) {
    const run = await functions.get(id);
    expect(run).toMatchObject({
      outcome: expect.toBeOneOf(['cancelled', 'skipped']),
      cleanup: expect.toBeOneOf(['none', 'proved']),
    });
    expect(run.supersededBy).toBeTypeOf('string');
    for (const { sandboxId } of run.attempts) {
      const proof = (await all().store.sandboxes.get(sandboxId))?.proof;
      expect(Date.parse(over.attempts[0]?.begunAt ?? '')).toBeGreaterThanOrEqual(Date.parse(proof?.provedAt ?? ''));
    }
  }
});

test('a throttle has runs begin one after another, each not before its time', async () => {
  const name = await functions.deploy('true', { throttle: { limit: 1, periodSeconds: 2 } });
  const runs = await Promise.all([1, 2, 3].map((n) => functions.trigger(name, { n })));
  const over = await Promise.all(runs.map((run) => functions.over(run)));
  const admitted = over.map(({ admittedAt }) => Date.parse(admittedAt ?? '')).toSorted((a, b) => a - b);
  for (const [n, at] of admitted.entries())
    if (n > 0) expect(at - (admitted[n - 1] ?? 0)).toBeGreaterThanOrEqual(2_000);
});

test('what is bound late runs what is active when it begins; all else what it was accepted for (case 27)', async () => {
  const names = [await functions.deploy('echo one', { lateBinding: true }), await functions.deploy('echo one')];
  const outputs: string[] = [];
  for (const name of names) {
    await functions.pause(name);
    const run = await functions.trigger(name);
    await functions.deployAs(name, 'echo two');
    await functions.resume(name);
    await functions.over(run);
    outputs.push(await functions.output(run.id));
  }
  expect(outputs).toEqual(['two\n', 'one\n']);
});

const cloudEvent = (id: string, time: string, data: object = {}) => ({
  body: { specversion: '1.0', id, source: '/test', type: 'test.made', time, data },
  headers: { 'Content-Type': 'application/cloudevents+json' },
});

test('of events that gather the newest by its time runs, for all of them (case 25)', async () => {
  const name = await functions.deploy('cat', { debounce: { periodSeconds: 3, maxWaitSeconds: 60 } });
  const [newer, older] = [cloudEvent('b', '2026-01-01T00:00:02Z'), cloudEvent('a', '2026-01-01T00:00:01Z')];
  const first = await functions.trigger(name, newer.body, newer.headers);
  expect(first).toMatchObject({ state: 'delayed', waitingFor: 'debounce' });
  const second = await functions.trigger(name, older.body, older.headers);
  expect(await functions.trigger(name, newer.body, newer.headers)).toMatchObject({ id: first.id });
  expect(await functions.over(second)).toMatchObject({ skippedFor: 'superseded', supersededBy: first.id });
  const over = await functions.over(first);
  expect(over).toMatchObject({ outcome: 'succeeded', events: [{ id: 'b' }, { id: 'a', runId: second.id }] });
  expect(JSON.parse(await functions.output(first.id))).toMatchObject({ id: 'b' });
});

test('events gather into a batch, but the one that does not fit; each has its item of the result (case 26)', async () => {
  const schema = { type: 'object', required: ['n'] };
  const batch = { maxSize: 3, maxWaitSeconds: 300 };
  const name = await functions.deploy(
    `cmp - $MAYFLY_EVENT && tr -d '[] ' < $MAYFLY_EVENT; echo '[1, {"two": 2}, "three"]' > $MAYFLY_RESULT`,
    {
      batch,
      input: { schema },
    },
  );
  const runs = [await functions.trigger(name, { n: 1 }), await functions.trigger(name, { n: 2 })];
  expect((await functions.post(name, { m: 3 })).status).toBe(422);
  runs.push(await functions.trigger(name, { n: 3 }));
  const over = await Promise.all(runs.map((run) => functions.over(run)));
  expect(over).toMatchObject(runs.map(() => ({ outcome: 'succeeded', cleanup: 'none', attempts: [], exitCode: 0 })));
  const results = await Promise.all(runs.map(async ({ id }) => (await functions.result(id)).json()));
  expect(results).toEqual([1, { two: 2 }, 'three']);
  const of = await functions.over({ id: over[0]?.batch ?? '' });
  expect(of).toMatchObject({ isBatch: true, outcome: 'succeeded', cleanup: 'proved', attempts: [{}] });
  expect(of.events.map(({ runId }) => runId)).toEqual(runs.map(({ id }) => id));
  expect(await functions.output(of.id)).toContain('"data":{"n":3}');
  expect((await functions.cancel(runs[0]?.id ?? '')).status).toBe(200); // as it ended
});
