import { describe, expect } from 'vitest';
import { unprovenLayers } from '../../model/sandbox/layers.ts';
import { useTestDoor } from '../support/door.ts';
import { eventually } from '../support/eventually.ts';
import { callsIn, TestPool } from '../support/pool.ts';
import { useSagaCases } from '../support/saga-cases.ts';

const { test, mayfly: all } = useSagaCases({ kind: 'in-memory' });

const door = useTestDoor(all);

describe.concurrent('a pool', () => {
  test('that is deleted destroys all members with proofs, but no claimed sandbox', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 3, max: 3 });
    const { create, call } = callsIn(door, pool, mayfly);
    const members = await pool.warm(3);
    const { told } = await create();
    const gone = await call('DELETE', `/v1/pools/${pool.name}`);
    expect([gone.status, await gone.json()]).toMatchObject([200, { state: 'deleted', members: [] }]);
    expect((await call('GET', `/v1/pools/${pool.name}`)).status).toBe(404);
    expect(await mayfly.record(told.id)).toMatchObject({ state: 'running' });
    for (const { id } of members.filter((member) => member.id !== told.id)) {
      const record = await mayfly.record(id);
      expect(record).toMatchObject({ state: 'destroyed', stopReason: 'retired' });
      expect(unprovenLayers(record.proof?.observations ?? [])).toEqual([]);
    }
  });

  test('is refilled after a claim, but not beyond its target', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 2, max: 2 });
    const { create } = callsIn(door, pool, mayfly);
    const [first] = await pool.warm(2);
    const { told } = await create();
    const after = await eventually(
      () => pool.members(),
      (members) => members.filter(({ id, state }) => id !== told.id && state === 'warm').length === 2,
    );
    expect(after).toHaveLength(2);
    expect(first).toBeDefined();
    expect((await pool.until(({ claims }) => claims.hits === 1)).claims).toEqual({ hits: 1, misses: 0 });
    await pool.end();
  });
});
