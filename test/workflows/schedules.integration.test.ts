import { pino } from 'pino';
import { afterAll, beforeAll, expect } from 'vitest';
import { ScheduleEngine } from '../../sagas/schedules.ts';
import { ScheduleKeeper } from '../../worker/upkeep/schedules.ts';
import { TestDoor } from '../support/door.ts';
import { eventually } from '../support/eventually.ts';
import { TestFunctions } from '../support/functions.ts';
import { useSagaCases } from '../support/saga-cases.ts';

/** Schedules of functions, with Temporal's own. */
const { test, mayfly: all } = useSagaCases();
let door: TestDoor;
let functions: TestFunctions;
let keeper: ScheduleKeeper;
beforeAll(async () => {
  door = await TestDoor.open(all());
  functions = new TestFunctions(door);
  keeper = new ScheduleKeeper(
    all().store,
    new ScheduleEngine(all().client),
    pino({ level: process.env['MAYFLY_LOG_LEVEL'] ?? 'silent' }),
  );
});
afterAll(() => door.close());

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
    await keeper.look();
    return times(name);
  }, wish);
}

test('a time comes, an event is accepted, and the next overlaps until nothing of its run is left', async () => {
  const name = await functions.deploy('cat; sleep 4');
  await set('often', { function: name, every: '1s' });
  const found = await until('often', (all) => all.some(({ reason }) => reason === 'overlap'));
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
  expect((await door.call('DELETE', '/v1/schedules/often')).status).toBe(204);
  await keeper.look();
  await functions.over(second);
});
