import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { ScheduleKeeper } from '../../../worker/upkeep/functions/schedule-keeper.ts';
import { TestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { TestFunctions } from '../../support/functions.ts';
import { TestMayfly } from '../../support/mayfly.ts';

/**
 * Promise: many schedules at one time are all accepted, none twice. Costs some minutes. It prints their delays: a
 * minute is for an idle machine with MAYFLY_TEST_SCHEDULES=1000.
 */
let all: TestMayfly;
let door: TestDoor;
let functions: TestFunctions;
let keeper: ScheduleKeeper;
beforeAll(async () => {
  all = await TestMayfly.start({}, 'simulated');
  door = await TestDoor.open(all);
  functions = new TestFunctions(door);
  keeper = new ScheduleKeeper(all.store, new ControlTemporalClient(all.client).schedules, pino({ level: 'silent' }));
});
afterAll(async () => {
  door?.close();
  await all?.stop();
});

const COUNT = Number(process.env['MAYFLY_TEST_SCHEDULES'] ?? 200);
/** Number of schedules that are set to measure the duration. */
const FIRST = 50;
const [BESIDE, LONG_MS] = [10, 1_200_000];
const project = 'default';

async function each(names: string[], act: (name: string) => Promise<unknown>): Promise<void> {
  const left = [...names];
  await Promise.all(
    Array.from({ length: BESIDE }, async () => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) await act(name);
    }),
  );
}

async function set(name: string, wish: object): Promise<void> {
  const answer = await door.call('PUT', `/v1/schedules/${name}`, wish);
  expect({ status: answer.status, body: await answer.json() }).toMatchObject({ status: expect.toBeOneOf([200, 201]) });
}

/** Waits until the workflows of all schedules have read their settings. */
async function known(names: string[]): Promise<void> {
  for (const name of names) {
    while ((await all.store.schedules.get({ project, name }))?.wakeAt !== null) await keeper.wake();
  }
}

function cronAt(at: number): string {
  const time = new Date(at);
  return `${time.getUTCMinutes()} ${time.getUTCHours()} * * *`;
}

it(`${COUNT} schedules at one time are all accepted, none doubled (case 51)`, {
  timeout: LONG_MS,
}, async () => {
  const names = Array.from({ length: COUNT }, (_, n) => `morning-${n}`);
  await each(names, async (name) => {
    await functions.deployAs(name, 'true');
    await functions.pause(name); // a paused function takes the event, and starts nothing
  });
  const began = Date.now();
  const trial = names.slice(0, FIRST).map((name) => `trial-${name}`);
  await each(trial, (name) => set(name, { function: name.replace('trial-', ''), cron: cronAt(began - 3_600_000) }));
  await known(trial);
  let takesMs = (Date.now() - began) * (COUNT / FIRST);
  await each(trial, (name) => door.call('DELETE', `/v1/schedules/${name}`));
  while ((await all.store.schedules.list(project)).length > 0) await keeper.wake(); // a project has at most a thousand
  let at = 0;
  while (at < Date.now()) {
    const begun = Date.now(); // repeated for a later time if the machine has slowed down
    at = Math.ceil((begun + takesMs * 2 + 30_000) / 60_000) * 60_000;
    await each(names, (name) => set(name, { function: name, cron: cronAt(at) }));
    await known(names);
    takesMs = Date.now() - begun;
  }
  const runOf = async (name: string) =>
    (await all.store.runs.list({ project, function: name, limit: 10 })).items.map(({ acceptedAt, event }) => ({
      acceptedAt,
      id: event.id,
    }));
  const late: number[] = [];
  for (const name of names) {
    const runs = await eventually(
      () => runOf(name),
      (found) => found.length > 0,
      LONG_MS,
    );
    expect(runs.map(({ id }) => id)).toEqual([`${name}/${new Date(at).toISOString().slice(0, 16)}`]);
    late.push(Date.parse(runs[0]?.acceptedAt ?? '') - at);
  }
  process.stderr.write(`accepted ${Math.min(...late)} to ${Math.max(...late)} ms after the time\n`);
  for (const name of names) expect(await runOf(name)).toHaveLength(1);
});
