import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { PoolTimes } from '../../../model/pools/pool-saga.ts';
import { NO_PROJECT } from '../../../model/project.ts';
import { TestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { callsIn, TestPool } from '../../support/pool.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test, mayfly: all } = useSagaCases({ kind: 'in-memory' });

let door: TestDoor;
let other: TestDoor;
beforeAll(async () => {
  [door, other] = [await TestDoor.open(all()), await TestDoor.open(all())];
});
afterAll(() => {
  door.close();
  other.close();
});

/** Timers of a pool that acts when it is set, and not again during a test. */
const ONCE: Partial<PoolTimes> = { lookMs: 600_000, quietMs: 600_000, patienceMs: 0 };

/** Memory size of the next pool, MiB: members are found by size, so each test has its own. */
let sizes = 70;

async function sharedPool(mayfly: MayflyCase, count: number, times: Partial<PoolTimes> = ONCE) {
  const memoryMib = sizes++;
  const pool = await TestPool.shared(mayfly);
  const set = (min = count) => pool.set({ min, max: min, memoryMib }, times);
  await set();
  const members = await pool.warm(count);
  await pool.until(({ refills }) => refills === 1);
  const project = async () => {
    const { project: id, secret } = await TestPool.in(mayfly);
    const of = (at: TestDoor) => {
      const calls = callsIn(at, { secret }, mayfly);
      const create = (body: object = {}, headers: Record<string, string> = {}) =>
        calls.create({ memoryMib, ...body }, headers);
      return { ...calls, create };
    };
    const usage = async () => (await of(door).call('GET', `/v1/projects/${id}/usage`)).json();
    return { id, secret, usage, of, ...of(door) };
  };
  return { pool, members, set, project, memoryMib };
}

const ways = (answers: { told: { boot?: { way: string } | null } }[]) =>
  answers.map(({ told }) => told.boot?.way ?? 'cold').toSorted();

describe.concurrent('a shared pool', () => {
  test('gives a member to the project that claims it, and hides it from others', async ({ mayfly }) => {
    const { pool, members, project } = await sharedPool(mayfly, 2);
    const [a, b] = [await project(), await project()];
    const before = await mayfly.record(members[0]?.id ?? '');
    expect(before).toMatchObject({
      project: NO_PROJECT,
      createdBy: { apiKeyId: 'pool' },
      spec: { boot: 'cold' }, // projects share no memory of templates
    });
    expect((await a.call('GET', `/v1/sandboxes/${before.id}`)).status).toBe(404);
    const { status, told } = await a.create({ name: 'one' });
    expect([status, told.boot?.way]).toEqual([201, 'warm']);
    expect(members.map(({ id }) => id)).toContain(told.id);
    expect(await mayfly.record(told.id)).toMatchObject({ project: a.id, name: 'one', createdBy: { project: a.id } });
    expect((await b.call('GET', `/v1/sandboxes/${told.id}`)).status).toBe(404);
    const theirs = await b.create({ name: 'one' });
    expect([theirs.status, theirs.told.boot?.way]).toEqual([201, 'warm']);
    for (const each of [a, b]) expect(await each.usage()).toMatchObject({ sandboxes: 1 });
    await mayfly.destroy(told.id);
    expect(await a.usage()).toMatchObject({ sandboxes: 0 });
    await pool.end();
  });

  test('serves no project that may not use its source, and counts no demand of it', async ({ mayfly }) => {
    const { pool, project } = await sharedPool(mayfly, 1);
    const a = await project();
    await mayfly.store.projects.change(a.id, { sources: [] });
    expect((await a.create()).told.code).toBe('source_not_found');
    const metrics = await (await door.call('GET', '/metrics')).text();
    expect(metrics).not.toContain(`mayfly_pool_claims_total{project="-",pool="${pool.name}"`);
    await pool.end();
  });

  test('is set, listed and deleted by operators only', async ({ mayfly }) => {
    const { pool, project, memoryMib } = await sharedPool(mayfly, 1);
    const a = await project();
    const path = `/v1/pools/${pool.name}`;
    const { source } = mayfly.input().spec;
    const wish = { source, memoryMib, min: 1, max: 1, shared: true };
    expect((await a.call('PUT', path, wish)).status).toBe(403);
    for (const query of ['', '?project=-']) {
      expect((await a.call('GET', `${path}${query}`)).status).toBe(404);
      expect((await a.call('DELETE', `${path}${query}`)).status).toBe(404);
    }
    expect(await (await a.call('GET', '/v1/pools')).json()).toMatchObject({ items: [] });
    const foreign = await door.call('PUT', path, { ...wish, source: `${a.id}.of-theirs` });
    expect([foreign.status, await foreign.json()]).toMatchObject([404, { code: 'source_not_found' }]);
    const set = await door.call('PUT', path, wish);
    expect([set.status, await set.json()]).toMatchObject([200, { shared: true, project: NO_PROJECT }]);
    expect((await door.call('GET', path)).status).toBe(404); // their own project has none
    const gone = await door.call('DELETE', `${path}?project=-`);
    expect([gone.status, await gone.json()]).toMatchObject([200, { state: 'deleted', members: [] }]);
  });

  // Promise: case 20. Two API processes, so that neither knows the requests of the other.
  test('is not drained by one project: half of each refill is reserved for others', async ({ mayfly }) => {
    const { pool, project, set } = await sharedPool(mayfly, 4);
    const [greedy, late] = [await project(), await project()];
    const doors = [greedy.of(door), greedy.of(other)];
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => doors[n % 2]?.create() ?? greedy.create()));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
    expect(ways(answers).filter((way) => way === 'warm')).toHaveLength(2);
    const theirs = [await late.create(), await late.create()];
    expect(ways(theirs)).toEqual(['warm', 'warm']);
    expect(ways([await greedy.create(), await late.create()])).toEqual(['cold', 'cold']);
    await set(3); // starts another refill
    await pool.warm(3);
    await pool.until(({ state, refills }) => state === 'ready' && refills === 2);
    await eventually(
      () => mayfly.store.pools.known(), // cached for a second
      (known) => known.some(({ name, refills }) => name === pool.name && refills === 2),
    );
    expect(ways([await greedy.create(), await greedy.create()])).toEqual(['cold', 'warm']);
    await pool.end();
    expect(await mayfly.store.poolShares.isLeft({ pool, project: greedy.id, refill: 2, most: 1 })).toBe(true);
  });

  test('serves a project at once while another is refused', async ({ mayfly }) => {
    const { pool, project } = await sharedPool(mayfly, 2);
    const [greedy, late] = [await project(), await project()];
    await mayfly.store.projects.change(greedy.id, { limits: { sandboxes: 0 } });
    const [refused, served] = await Promise.all([
      Promise.all(Array.from({ length: 6 }, () => greedy.create())),
      late.create(),
    ]);
    expect(refused.map(({ status }) => status)).toEqual(Array(6).fill(409));
    expect(served.told.boot?.way).toBe('warm');
    await pool.end();
  });

  const full = [
    ['sandboxes', { sandboxes: 1 }],
    ['disks', { diskBytes: 1 }],
  ] as const;
  for (const [what, limits] of full) {
    test(`refuses who may have no more ${what}, whose share is as it was`, async ({ mayfly }) => {
      const { pool, members, project } = await sharedPool(mayfly, 4);
      const a = await project();
      const held = what === 'disks' ? null : await a.create({ boot: 'cold' });
      await mayfly.store.projects.change(a.id, { limits });
      const { status } = await a.create();
      expect(status).toBeGreaterThanOrEqual(400);
      expect(await a.usage()).toMatchObject({ sandboxes: held ? 1 : 0 });
      const left = (await pool.members()).filter(({ state }) => state === 'warm').map(({ id }) => id);
      expect(new Set(left)).toEqual(new Set(members.map(({ id }) => id)));
      await mayfly.store.projects.change(a.id, { limits: { sandboxes: null, diskBytes: null } });
      expect(ways([await a.create(), await a.create()])).toEqual(['warm', 'warm']);
      await pool.end();
    });
  }

  test('counts at most one member against a quota with room for one, for any number of requests', async ({
    mayfly,
  }) => {
    const { pool, project } = await sharedPool(mayfly, 6);
    const a = await project();
    await mayfly.store.projects.change(a.id, { limits: { sandboxes: 1 } });
    const [one, two] = [a.of(door), a.of(other)];
    const answers = await Promise.all([one.create(), two.create(), one.create(), two.create()]);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(await a.usage()).toMatchObject({ sandboxes: 1 });
    const had = answers.find(({ status }) => status === 201)?.told.id ?? '';
    await mayfly.destroy(had);
    expect((await a.create()).status).toBe(201);
    await pool.end();
  });

  test('hands out no member for a taken name, and releases its count', async ({ mayfly }) => {
    const { pool, project } = await sharedPool(mayfly, 2);
    const a = await project();
    await a.create({ name: 'mine', boot: 'cold' });
    expect((await a.create({ name: 'mine' })).status).toBe(409);
    expect(await a.usage()).toMatchObject({ sandboxes: 1 });
    expect(ways([await a.create({ name: 'other' })])).toEqual(['warm']);
    await pool.end();
  });

  test('gives one sandbox to an Idempotency-Key, and counts it once', async ({ mayfly }) => {
    const { pool, project } = await sharedPool(mayfly, 4);
    const a = await project();
    await mayfly.store.projects.change(a.id, { limits: { sandboxes: 10 } });
    const headers = { 'Idempotency-Key': randomBytes(8).toString('hex') };
    const [one, two] = [a.of(door), a.of(other)];
    const answers = await Promise.all([one, two, one, two].map((calls) => calls.create({}, headers)));
    expect(new Set(answers.map(({ told }) => told.id)).size).toBe(1);
    expect(await a.usage()).toMatchObject({ sandboxes: 1 });
    const again = { 'Idempotency-Key': randomBytes(8).toString('hex') };
    const first = await one.create({}, again);
    expect([first.told.boot?.way, (await two.create({}, again)).told.id]).toEqual(['warm', first.told.id]);
    expect(await a.usage()).toMatchObject({ sandboxes: 2 });
    await pool.end();
  });
});

describe.concurrent('the count of a claim', () => {
  const faults = [
    'admitClaim.before=1*error(store_unavailable)',
    'admitClaim.after=1*error(store_unavailable)',
    'recordClaim.after=1*error(store_unavailable)',
  ];
  for (const fault of faults) {
    test(`counts once when ${fault}`, async ({ mayfly }) => {
      const { pool, members, project } = await sharedPool(mayfly, 1);
      const a = await project();
      await mayfly.store.projects.change(a.id, { limits: { sandboxes: 1 } });
      mayfly.arm(fault, members[0]?.id ?? '');
      const { status, told } = await a.create();
      expect([status, told.boot?.way]).toEqual([201, 'warm']);
      expect(await a.usage()).toMatchObject({ sandboxes: 1 });
      await mayfly.destroy(told.id);
      expect(await a.usage()).toMatchObject({ sandboxes: 0 });
      await pool.end();
    });
  }

  test('is released, despite repeated failures, when the claim fails', async ({ mayfly }) => {
    const { pool, members, project } = await sharedPool(mayfly, 1);
    const a = await project();
    await a.create({ name: 'mine', boot: 'cold' });
    mayfly.arm(
      'releaseClaim.before=2*error(store_unavailable);releaseClaim.after=1*error(store_unavailable)',
      members[0]?.id ?? '',
    );
    expect((await a.create({ name: 'mine' })).status).toBe(409);
    expect(await a.usage()).toMatchObject({ sandboxes: 1 });
    expect(ways([await a.create()])).toEqual(['warm']);
    await pool.end();
  });
});
