import { describe, expect } from 'vitest';
import { unprovenLayers } from '../../model/sandbox/layers.ts';
import { listAuditKinds } from '../support/audit-kinds.ts';
import { useTestDoor } from '../support/door.ts';
import { buildClaimRequest, callsIn, getClaimOutcome, getFirstMember, TestPool } from '../support/pool.ts';
import { useSagaCases } from '../support/saga-cases.ts';

const { test, mayfly: all } = useSagaCases({ kind: 'in-memory' });

const door = useTestDoor(all);

describe.concurrent('a pool', () => {
  test("a create gets a member of its pool at once, with the caller's settings", async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 });
    const { create, call } = callsIn(door, pool, mayfly);
    const member = await getFirstMember(pool);
    const before = await mayfly.record(member.id);
    const { status, told } = await create({ name: 'first', ttlSeconds: 77, idleSeconds: 66, metadata: { a: 'b' } });
    expect(status).toBe(201);
    expect(told).toMatchObject({
      id: member.id,
      name: 'first',
      state: 'running',
      createdBy: pool.actor,
      spec: { ttlSeconds: 77, idleSeconds: 66, metadata: { a: 'b' } },
      boot: { way: 'warm', why: null, templateId: null },
    });
    expect(Date.parse(told.createdAt)).toBeGreaterThan(Date.parse(before.createdAt));
    expect(Date.parse(told.expiresAt) - Date.parse(told.createdAt)).toBe(77_000);
    expect(await listAuditKinds(mayfly, member.id)).toContain('sandbox.claimed');
    expect(await mayfly.store.sandboxes.named('first', pool.project)).toMatchObject({ id: member.id });
    expect((await call('GET', '/v1/sandboxes/first')).status).toBe(200);
    await pool.end();
    expect((await mayfly.record(member.id)).state).toBe('running');
    const ended = await mayfly.destroy(member.id);
    expect(unprovenLayers(ended.proof?.observations ?? [])).toEqual([]);
  });

  test('one of several concurrent claims gets a member, and a repeated request gets it again', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 });
    const { id } = await getFirstMember(pool);
    const requests = Array.from({ length: 8 }, () => buildClaimRequest(mayfly, pool));
    const outcomes = await Promise.all(
      requests.map((request) => getClaimOutcome(mayfly.sagas.pools.claim(id, request))),
    );
    expect(outcomes.filter((outcome) => outcome === 'claimed')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'sandbox_busy')).toHaveLength(7);
    const winner = requests[outcomes.indexOf('claimed')];
    if (!winner) throw new Error('nobody has it');
    await mayfly.sagas.pools.claim(id, winner);
    expect((await mayfly.record(id)).pool?.claimedBy).toBe(winner.requestId);
    await pool.end();
  });

  test.for(['before', 'after'])(
    'a member whose probe fails %s its effect is skipped, and the caller is served',
    async (where, { mayfly }) => {
      const pool = await TestPool.in(mayfly);
      await pool.set({ min: 1, max: 1 }, { lookMs: 60_000 });
      const { create } = callsIn(door, pool, mayfly);
      const { id } = await getFirstMember(pool);
      mayfly.arm(`greet.${where}=error`, id);
      const { status, told } = await create();
      expect(status).toBe(201);
      expect(told.id).not.toBe(id);
      expect(told.boot).toMatchObject({ why: 'pool_empty' });
      await pool.end();
    },
  );
});
