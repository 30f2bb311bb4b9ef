import { randomBytes } from 'node:crypto';
import { describe, expect } from 'vitest';
import { poolWorkflowId } from '../../../model/pools/pool-saga.ts';
import { useTestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { loseWorkflow } from '../../support/lose-workflow.ts';
import { callsIn, TestPool } from '../../support/pool.ts';
import { reconcileOnce } from '../../support/reconcile-once.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test, alone, mayfly: all } = useSagaCases({ kind: 'in-memory' });

const door = useTestDoor(all);

alone('of a hundred creates at once each member is had once, and the rest are made', async ({ mayfly }) => {
  const pool = await TestPool.in(mayfly);
  await pool.set({ min: 4, max: 4 });
  const { create } = callsIn(door, pool, mayfly);
  const members = new Set((await pool.warm(4)).map(({ id }) => id));
  const answers = await Promise.all(
    Array.from({ length: 100 }, () =>
      create({}, { Prefer: 'wait=0', 'Idempotency-Key': randomBytes(8).toString('hex') }),
    ),
  );
  expect(answers.filter(({ status }) => status >= 400)).toEqual([]);
  const ids = answers.map(({ told }) => told.id);
  expect(new Set(ids).size).toBe(100);
  const warm = answers.filter(({ told }) => told.boot?.way === 'warm');
  for (const { status } of warm) expect(status).toBe(201);
  expect(ids.filter((id) => members.has(id)).length).toBe(4);
  await pool.end();
  await Promise.all(ids.map((id) => mayfly.destroy(id)));
});

describe.concurrent('a pool', () => {
  test('with a changed spec hands out no member of the old spec', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 2, max: 2 });
    const { create } = callsIn(door, pool, mayfly);
    const before = await pool.warm(2);
    await pool.set({ min: 2, max: 2, memoryMib: 128 });
    const { told } = await create();
    expect(before.map(({ id }) => id)).not.toContain(told.id);
    for (const { id } of before) expect(await mayfly.end(id)).toMatchObject({ stopReason: 'retired' });
    const after = await pool.warm(2);
    expect(after.map(({ size }) => size?.memoryMib)).toEqual([128, 128]);
    await pool.end();
  });

  test('that cannot be filled reports why, retries with backoff, and recovers', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await mayfly.store.projects.change(pool.project, { limits: { memoryMib: 1 } });
    await pool.set({ min: 2, max: 2 });
    const degraded = await pool.until(({ state }) => state === 'degraded');
    expect(degraded.reason).toContain('quota_exceeded');
    expect(degraded.retryAt).not.toBeNull();
    expect(await mayfly.store.poolMembers.of(pool)).toEqual([]);
    await mayfly.store.projects.change(pool.project, { limits: { memoryMib: null } });
    expect(await pool.until(({ state }) => state === 'ready')).toMatchObject({ reason: null, retryAt: null });
    await pool.end();
  });

  test('replaces a member by age, and one that does not answer', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 }, { replaceMs: 1_500 });
    const [old] = await pool.warm(1);
    expect(await mayfly.end(old?.id ?? '')).toMatchObject({ state: 'destroyed', stopReason: 'retired' });
    const [silent] = await pool.warm(1);
    mayfly.memory?.die(silent?.id ?? '', 'crashed');
    await mayfly.until(silent?.id ?? '', ({ state }) => state === 'failed' || state === 'destroyed');
    await pool.warm(1);
    await pool.end();
  });

  test('belongs to its project: other projects get none of its members', async ({ mayfly }) => {
    const [pool, other] = [await TestPool.in(mayfly), await TestPool.in(mayfly)];
    await pool.set({ min: 1, max: 1 });
    const [member] = await pool.warm(1);
    const { call, create } = callsIn(door, other, mayfly);
    const { told } = await create();
    expect(told.id).not.toBe(member?.id);
    expect((await call('GET', `/v1/sandboxes/${member?.id}`)).status).toBe(404);
    await pool.end();
  });

  test('reports claims, members and idle memory in metrics and API', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    const set = () => pool.set({ min: 1, max: 1 }, { lookMs: 600_000, quietMs: 600_000, patienceMs: 0 });
    await set();
    await pool.warm(1);
    const { create, call } = callsIn(door, pool, mayfly);
    const measured = async (name: string, labels = '') => {
      const text = await (await door.call('GET', '/metrics')).text();
      const line = `${name}{project="${pool.project}",pool="${pool.name}"${labels}} `;
      const [found = ''] = text.split('\n').filter((each) => each.startsWith(line));
      return Number(found.slice(line.length));
    };
    expect(await measured('mayfly_pool_members', ',state="warm"')).toBe(1);
    expect(await measured('mayfly_pool_members_wanted')).toBe(1);
    expect(await measured('mayfly_pool_oldest_member_seconds')).toBeGreaterThan(0);
    const before = await measured('mayfly_pool_idle_mib_hours');
    expect(before).toBeGreaterThan(0);
    await create();
    await create();
    expect(await measured('mayfly_pool_claims_total', ',outcome="hit"')).toBe(1);
    expect(await measured('mayfly_pool_claims_total', ',outcome="empty"')).toBe(1);
    expect(await measured('mayfly_pool_members', ',state="warm"')).toBe(0);
    const look = async () => {
      await set();
      return pool.until(() => true);
    };
    const told = await eventually(look, ({ claims }) => claims.hits + claims.misses === 2);
    expect(told).toMatchObject({ claims: { hits: 1, misses: 1 }, idle: { mibHours: expect.any(Number) } });
    const answer = (await (await call('GET', `/v1/pools/${pool.name}`)).json()) as { idleMibHours: number };
    expect(answer.idleMibHours).toBeCloseTo(told.idle.mibHours, 3);
    await pool.end();
  });

  test('counts its members once in its project', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await mayfly.store.projects.change(pool.project, { limits: { sandboxes: 2 } });
    await pool.set({ min: 2, max: 2 });
    const { create, call } = callsIn(door, pool, mayfly);
    await pool.warm(2);
    const usage = async () => (await call('GET', `/v1/projects/${pool.project}/usage`)).json();
    expect(await usage()).toMatchObject({ sandboxes: 2, memoryMib: 128 });
    expect(await create()).toMatchObject({ status: 201, told: { boot: { way: 'warm' } } });
    expect(await usage()).toMatchObject({ sandboxes: 2 });
    await pool.end();
  });

  test('survives the loss of its workflow; members of a deleted pool are retired', async ({ mayfly }) => {
    const [kept, lost] = [await TestPool.in(mayfly), await TestPool.in(mayfly)];
    for (const pool of [kept, lost]) await pool.set({ min: 1, max: 1 });
    const [mine] = await kept.warm(1);
    const [orphan] = await lost.warm(1);
    for (const pool of [kept, lost]) {
      await loseWorkflow(mayfly.client, poolWorkflowId(pool));
    }
    const record = await mayfly.store.pools.get(lost);
    if (!record) throw new Error('there is no pool');
    await mayfly.store.pools.put({ ...record, state: 'deleted' });
    await reconcileOnce(mayfly.client);
    expect(await mayfly.end(orphan?.id ?? '')).toMatchObject({ state: 'destroyed', stopReason: 'retired' });
    expect(await mayfly.record(mine?.id ?? '')).toMatchObject({ state: 'warm' });
    expect((await mayfly.client.workflow.getHandle(poolWorkflowId(kept)).describe()).status.name).toBe('RUNNING');
    await kept.end();
  });
});
