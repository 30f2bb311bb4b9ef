import { beforeAll, expect, test } from 'vitest';
import { jsonOf, useDoor } from '../../../api/support.ts';

/** Promise: a repeated backfill with its Idempotency-Key is one backfill; a refused one uses up no key. Seconds. */
const door = useDoor();
let schedules = 0;
beforeAll(async () => {
  const made = await door.call('PUT', '/v1/functions/fn', { source: 'golden', command: 'true' });
  expect(made.status).toBe(201);
});

const HOUR_MS = 3_600_000;
const to = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString();
const before = (hours: number) => new Date(Date.parse(to) - hours * HOUR_MS).toISOString();
const range = { from: before(3), to };

async function scheduled(): Promise<string> {
  const name = `nightly-${++schedules}`;
  expect((await door.call('PUT', `/v1/schedules/${name}`, { function: 'fn', every: '1h' })).status).toBe(201);
  return name;
}
const backfill = (name: string, wish: object, key: string) =>
  door.call('POST', `/v1/schedules/${name}/backfill`, wish, { 'Idempotency-Key': key });
async function asks(name: string) {
  return Object.values((await door.store.schedules.get({ project: 'default', name }))?.asks ?? {});
}
const codeOf = async (answer: Response) => [answer.status, (await jsonOf<{ code?: string }>(answer)).code];

test('the same key is one backfill with one response, also concurrently; another body is refused', async () => {
  const name = await scheduled();
  const [first, ...others] = await Promise.all([1, 2, 3].map(() => backfill(name, range, 'once')));
  const said = await jsonOf<{ id: string; at: string }>(first as Response);
  expect(said).toMatchObject({ id: expect.any(String), at: expect.any(String) });
  for (const other of [...others, await backfill(name, { to, from: range.from }, 'once')]) {
    expect([other.status, await other.json()]).toEqual([202, said]);
  }
  expect(await asks(name)).toMatchObject([{ id: said.id, kind: 'backfill', ...range }]);
  for (const other of [
    { ...range, from: before(2) },
    { ...range, overlap: 'allow-all' },
  ]) {
    expect(await codeOf(await backfill(name, other, 'once'))).toEqual([422, 'idempotency_key_reused']);
  }
  expect(await codeOf(await backfill(await scheduled(), range, 'once'))).toEqual([422, 'idempotency_key_reused']);
  expect(await asks(name)).toHaveLength(1);
  expect((await backfill(name, range, 'twice')).status).toBe(202);
  expect(await asks(name)).toHaveLength(2);
});

test('a refused backfill uses up no key: it can be corrected and sent again', async () => {
  const name = await scheduled();
  const endless = { from: '2001-01-01T00:00:00Z', to };
  expect(await codeOf(await backfill(name, endless, 'mended'))).toEqual([422, 'invalid_request']);
  expect(await codeOf(await backfill('nobody', range, 'mended'))).toEqual([404, 'schedule_not_found']);
  expect((await backfill(name, range, 'mended')).status).toBe(202);
  expect(await asks(name)).toHaveLength(1);
});
