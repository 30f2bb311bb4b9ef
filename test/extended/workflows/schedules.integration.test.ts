import { pino } from 'pino';
import { beforeAll, expect } from 'vitest';
import { scheduleWorkflowId } from '../../../model/schedules/schedule-saga.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { ScheduleKeeper } from '../../../worker/upkeep/functions/schedule-keeper.ts';
import { useTestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { isRunning } from '../../support/function-cases.ts';
import { TestFunctions } from '../../support/functions.ts';
import { INTERVENTIONS, intervene } from '../../support/interventions.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { sweepOn } from '../../support/sweep.ts';

/** Schedules of functions, each with its workflow. */
const { test, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);
let keeper: ScheduleKeeper;
beforeAll(async () => {
  keeper = new ScheduleKeeper(
    all().store,
    new ControlTemporalClient(all().client).schedules,
    pino({ level: process.env['MAYFLY_LOG_LEVEL'] ?? 'silent' }),
  );
});

interface Time {
  at: string;
  state: string;
  reason: string | null;
  runId: string | null;
}

async function set(name: string, wish: object): Promise<void> {
  const response = await door.call('PUT', `/v1/schedules/${name}`, wish);
  expect({ status: response.status, body: await response.json() }).toMatchObject({ status: 201 });
}

async function times(name: string): Promise<Time[]> {
  const { items } = (await (await door.call('GET', `/v1/schedules/${name}/times`)).json()) as { items: Time[] };
  return items;
}

async function until(name: string, wish: (times: Time[]) => boolean): Promise<Time[]> {
  return eventually(async () => {
    await keeper.wake();
    return times(name);
  }, wish);
}

test('a scheduled time starts a run, and later times overlap until its cleanup', async () => {
  const name = await functions.deploy('cat; sleep 4');
  await set('often', { function: name, every: '1s' });
  // Times that are due together overlap before the first has run.
  const found = await until('often', (all) => runs(all).length > 0 && all.some(({ reason }) => reason === 'overlap'));
  const ran = found.findLast(({ state }) => state === 'ran');
  const run = await functions.over({ id: ran?.runId ?? '' });
  expect(run).toMatchObject({
    outcome: 'succeeded',
    schedule: { name: 'often', nominalAt: ran?.at },
    event: { id: `often/${ran?.at}`, source: '/projects/default/schedules/often', time: ran?.at },
  });
  const more = await until('often', (all) => all.filter(({ state }) => state === 'ran').length >= 2);
  const next = more.findLast(({ state, at }) => state === 'ran' && at > (ran?.at ?? ''));
  const second = await functions.get(next?.runId ?? '');
  expect(Date.parse(second.acceptedAt)).toBeGreaterThanOrEqual(Date.parse(run.updatedAt));
  await remove('often');
  await functions.over(second);
});

interface Asked {
  status: number;
  body: { errors?: { field: string; problem: string }[]; code?: string };
}

async function asked(name: string, wish: object): Promise<Asked> {
  const response = await door.call('PUT', `/v1/schedules/${name}`, wish);
  return { status: response.status, body: (await response.json()) as Asked['body'] };
}

const post = (name: string, act: string, body: object = {}) => door.call('POST', `/v1/schedules/${name}/${act}`, body);
const runs = (all: Time[]) => all.flatMap(({ runId }) => runId ?? []).toReversed();
const missed = (all: Time[], reason: string) => all.filter((time) => time.reason === reason);

/** Deletes a schedule, and asserts that record, times and workflow are removed. */
async function remove(name: string): Promise<void> {
  const ref = { project: 'default', name };
  expect((await door.call('DELETE', `/v1/schedules/${name}`)).status).toBe(204);
  await keeper.wake();
  await all().client.workflow.getHandle(scheduleWorkflowId(ref)).result();
  expect(await all().store.schedules.get(ref)).toBeNull();
  expect(await all().store.scheduleTimes.list(ref, { limit: 1 })).toEqual([]);
}

test('refuses an invalid time, and names its field (case 50)', async () => {
  const name = await functions.deploy('true');
  const cases: [object, string, RegExp][] = [
    [{ cron: '0 0 * * *', timeZone: 'Mars/Base' }, 'timeZone', /time zone/],
    [{ cron: '0 0 * * *', timeZone: '+01:00' }, 'timeZone', /time zone/],
    [{ cron: '60 * * * *' }, 'cron', /minute/],
    [{ cron: '0 0 30 2 *' }, 'cron', /never fires/],
    [{ cron: '0 0 30 Feb *' }, 'cron', /never fires/],
    [{ cron: '0 0 0 1 1 * 2026' }, 'cron', /7 fields/],
    [{ cron: '@reboot' }, 'cron', /none of/],
    [{ cron: '0 0 1 1 *', endAt: '2020-01-01T00:00:00Z' }, 'endAt', /never/],
    [{ every: '0s' }, 'every', /number/],
    [{}, 'cron', /must be set/],
    [{ cron: '* * * * *', every: '1m' }, 'cron', /not both/],
    [{ cron: '* * * * *', catchupWindowSeconds: 9 }, 'catchupWindowSeconds', /10/],
    [{ cron: '* * * * *', overlap: 'terminate-other' }, 'overlap', /./],
  ];
  for (const [wish, field, problem] of cases) {
    const { status, body } = await asked('never', { function: name, ...wish });
    expect({ status, body }).toMatchObject({ status: 422, body: { code: 'invalid_request' } });
    expect(body.errors, JSON.stringify(wish)).toContainEqual({ field, problem: expect.stringMatching(problem) });
  }
  expect((await asked('never', { function: 'no-such', cron: '* * * * *' })).body.code).toBe('function_not_found');
});

test('a time that cancels other runs starts after their proof (case 49)', async () => {
  const name = await functions.deploy('echo started; sleep 1000');
  await set('cancels', { function: name, every: '10s', overlap: 'cancel-other' });
  const two = await until('cancels', (all) => runs(all).length >= 2);
  const [first = '', second = ''] = runs(two);
  await remove('cancels');
  const [one, other] = [await functions.over({ id: first }), await functions.get(second)];
  expect(one).toMatchObject({ outcome: 'cancelled', cleanup: 'proved' });
  expect(Date.parse(other.acceptedAt)).toBeGreaterThanOrEqual(Date.parse(one.updatedAt));
  await functions.cancel(second);
  await functions.over({ id: second });
});

sweepOn(test)(INTERVENTIONS)('its workflow: %s', async (kind, { mayfly }) => {
  const name = await functions.deploy(kind.startsWith('cancel') ? 'sleep 1000' : 'sleep 3');
  const schedule = `yearly-${kind.replaceAll(' ', '-')}`;
  await set(schedule, { function: name, cron: '0 0 1 1 *' });
  expect((await post(schedule, 'trigger')).status).toBe(202);
  const [runId = ''] = runs(await until(schedule, (all) => runs(all).length > 0));
  await functions.until(runId, isRunning);
  await intervene(mayfly.client, scheduleWorkflowId({ project: 'default', name: schedule }), kind);
  const outcome = kind.startsWith('cancel') ? 'cancelled' : 'succeeded';
  expect(await functions.over({ id: runId })).toMatchObject({ outcome, cleanup: 'proved' });
  expect(runs(await times(schedule))).toEqual([runId]);
  const { pauseReason } = (await mayfly.store.schedules.get({ project: 'default', name: schedule })) ?? {};
  expect(pauseReason).toEqual(kind.startsWith('cancel') ? expect.stringMatching(/cancelled in Temporal/) : null);
  await keeper.ensure(); // a terminated workflow restarts, once
  expect((await post(schedule, 'trigger')).status).toBe(202);
  const both = runs(await until(schedule, (all) => runs(all).length > 1));
  expect(both).toHaveLength(2);
  await functions.cancel(both[1] ?? '');
  await functions.over({ id: both[1] ?? '' });
  await remove(schedule);
});

test('one run is buffered, other times are listed; with allow-all runs overlap (case 49)', async () => {
  const name = await functions.deploy('sleep 6');
  await set('buffers', { function: name, every: '2s', overlap: 'buffer-one' });
  const found = await until('buffers', (all) => runs(all).length >= 2 && missed(all, 'overlap').length > 0);
  await remove('buffers');
  const [first = '', second = ''] = runs(found);
  const [one, other] = [await functions.over({ id: first }), await functions.over({ id: second })];
  expect(Date.parse(other.acceptedAt)).toBeGreaterThanOrEqual(Date.parse(one.updatedAt));
  expect(Date.parse(found.findLast(({ runId }) => runId === second)?.at ?? '')).toBeLessThan(Date.parse(one.updatedAt));
  await set('beside', { function: name, every: '2s', overlap: 'allow-all' });
  const beside = runs(await until('beside', (all) => runs(all).length >= 2));
  await remove('beside');
  const both = await Promise.all(beside.map((id) => functions.over({ id })));
  const [a, b] = [both[0], both[1]];
  expect(Date.parse(b?.acceptedAt ?? '')).toBeLessThan(Date.parse(a?.endedAt ?? ''));
});

test('after three hours of downtime one run starts, and the other times are listed (case 48)', async () => {
  const name = await functions.deploy('true');
  await door.call('PUT', '/v1/schedules/off', { function: name, cron: '* * * * *' });
  const since = new Date(Date.now() - 3 * 3_600_000).toISOString();
  await all().store.schedules.change({ project: 'default', name: 'off' }, { handledUntil: since, wakeAt: since });
  const listed = await eventually(
    async () => {
      await keeper.wake();
      return all().store.scheduleTimes.list({ project: 'default', name: 'off' }, { limit: 500 });
    },
    (times) => missed(times, 'catch-up').length >= 119 && runs(times).length > 0,
  );
  await remove('off');
  expect(missed(listed, 'overlap').length + missed(listed, 'catch-up').length).toBeGreaterThanOrEqual(178);
  expect(listed.filter(({ state }) => state === 'ran').length).toBeLessThanOrEqual(3);
  for (const id of runs(listed)) await functions.over({ id });
});

test('a repeated trigger runs once, also while paused; a backfill runs the missed times', async () => {
  const name = await functions.deploy('true');
  await set('held', { function: name, every: '1h' });
  await keeper.wake();
  expect(await (await post('held', 'pause')).json()).toMatchObject({ pausedAt: expect.any(String), nextAt: null });
  await keeper.wake();
  const keyed = () => door.call('POST', '/v1/schedules/held/trigger', {}, { 'Idempotency-Key': 'held once' });
  const [first, again] = [await keyed(), await keyed()];
  expect([first.status, await again.json()]).toEqual([202, await first.json()]);
  const triggered = await until('held', (all) => runs(all).length > 0);
  for (const id of runs(triggered)) expect(await functions.over({ id })).toMatchObject({ outcome: 'succeeded' });
  const to = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString();
  const range = { from: new Date(Date.parse(to) - 3_600_000).toISOString(), to, overlap: 'allow-all' };
  for (const _twice of [1, 2]) expect((await post('held', 'backfill', range)).status).toBe(202);
  const all3 = await until('held', (times) => runs(times).length >= 3);
  expect(new Set(runs(all3)).size).toBe(3);
  expect((await post('held', 'backfill', { ...range, from: '2001-01-01T00:00:00Z' })).status).toBe(422);
  for (const id of runs(all3)) await functions.over({ id });
  await remove('held');
});

test('each of three concurrent triggers is listed once with its outcome; so is each backfilled time', async () => {
  const name = await functions.deploy('sleep 4');
  const became = { skip: 1, 'buffer-one': 2, 'buffer-all': 3 };
  for (const [overlap, ran] of Object.entries(became)) {
    const schedule = `thrice-${overlap}`;
    await set(schedule, { function: name, every: '1d', overlap });
    await keeper.wake();
    const answers = await Promise.all([1, 2, 3].map(() => post(schedule, 'trigger')));
    const ids = await Promise.all(answers.map(async (each) => ((await each.json()) as { id: string }).id));
    const listed = (await until(schedule, (all) => all.length >= 3)) as (Time & { triggerId: string })[];
    expect(listed.map(({ triggerId }) => triggerId).toSorted()).toEqual(ids.toSorted());
    expect([runs(listed).length, missed(listed, 'overlap').length]).toEqual([ran, 3 - ran]);
    for (const id of runs(listed)) await functions.over({ id });
    await remove(schedule);
  }
  await set('filled', { function: name, every: '1h' });
  await keeper.wake();
  const to = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  const range = { from: new Date(to - 3 * 3_600_000).toISOString(), to: new Date(to).toISOString() };
  expect((await post('filled', 'backfill', range)).status).toBe(202);
  const filled = await until('filled', (all) => all.length >= 4);
  expect([filled.length, runs(filled).length, missed(filled, 'overlap').length]).toEqual([4, 1, 3]);
  for (const id of runs(filled)) await functions.over({ id });
  await remove('filled');
});

test('an event that the function refuses is listed; a schedule is deleted with its function', async () => {
  const input = { schema: { type: 'object', required: ['n'] } };
  const name = await functions.deploy('true', { input });
  await set('refused', { function: name, every: '2s', event: { data: {} } });
  const found = await until('refused', (all) => missed(all, 'refused').length > 0);
  expect(runs(found)).toEqual([]);
  expect(await functions.delete(name)).toBe(204);
  expect((await door.call('GET', '/v1/schedules/refused')).status).toBe(404);
  await keeper.wake();
  await eventually(() => all().store.schedules.get({ project: 'default', name: 'refused' }), null);
});

test('a deleted schedule is not revived, even if its workflow was terminated', async () => {
  const name = await functions.deploy('true');
  const ref = { project: 'default', name: 'gone' };
  await set('gone', { function: name, every: '1d' });
  await keeper.wake();
  await intervene(all().client, scheduleWorkflowId(ref), 'terminate');
  await remove('gone');
  await eventually(
    async () => {
      await keeper.ensure(); // until Temporal lists no run of it
      return (await all().client.workflow.getHandle(scheduleWorkflowId(ref)).describe()).status.name;
    },
    (status) => status === 'COMPLETED',
  );
});

test('a failing schedule is paused, and its buffered times are missed', async () => {
  const name = await functions.deploy('sleep 3; false');
  await set('failing', { function: name, every: '1s', overlap: 'buffer-all', pauseOnFailure: true });
  const found = await until('failing', (all) => missed(all, 'paused').length > 1);
  const record = await all().store.schedules.get({ project: 'default', name: 'failing' });
  expect([record?.pauseReason, runs(found)]).toEqual([`${runs(found)[0]} is failed`, [runs(found)[0]]]);
  await remove('failing');
});
