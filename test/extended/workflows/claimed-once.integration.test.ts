import { randomBytes } from 'node:crypto';
import { describe, expect } from 'vitest';
import { type Claim, Idempotency } from '../../../store/access/idempotency.ts';
import { TestDoor, useTestDoor } from '../../support/door.ts';
import { callsIn, TestPool } from '../../support/pool.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test, mayfly: all } = useSagaCases({ kind: 'in-memory' });

const door = useTestDoor(all);

/** Opens the API of a process that dies at its claim: each later call fails. */
async function dyingAtClaim(when: 'before' | 'after'): Promise<TestDoor> {
  const { store, sagas } = all();
  let isDead = false;
  const dead = () => Promise.reject(new Error('the process has died'));
  const mortal = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(_target, name) {
        const own: unknown = Reflect.get(target, name, target);
        if (typeof own === 'object' && own !== null) return mortal(own);
        if (typeof own !== 'function') return own;
        return async (...args: unknown[]) => {
          if (isDead) return dead();
          if (name !== 'claim') return own.apply(target, args);
          isDead = true;
          if (when === 'after') await own.apply(target, args);
          return dead();
        };
      },
    });
  return TestDoor.open({ store, sagas: mortal(sagas) });
}

const keyed = () => ({ 'Idempotency-Key': randomBytes(8).toString('hex') });

describe.concurrent('an Idempotency-Key', () => {
  // Promise: an API process that dies never causes a second sandbox. Costs 8 s.
  const DEATHS = [
    ['own', 'before'],
    ['own', 'after'],
    ['shared', 'before'],
    ['shared', 'after'],
  ] as const;
  for (const [whose, when] of DEATHS) {
    test(`leads to one sandbox of its ${whose} pool when the process dies ${when} its claim`, async ({ mayfly }) => {
      const memoryMib = 160 + DEATHS.findIndex((each) => each[0] === whose && each[1] === when);
      const pool = whose === 'own' ? await TestPool.in(mayfly) : await TestPool.shared(mayfly);
      await pool.set({ min: 1, max: 1, memoryMib });
      const [member] = await pool.warm(1);
      const headers = keyed();
      const dying = await dyingAtClaim(when);
      expect((await callsIn(dying, pool, mayfly).create({ memoryMib }, headers)).status).toBe(500);
      dying.close();
      const { create, call } = callsIn(door, pool, mayfly);
      const answers = await Promise.all([1, 2, 3].map(() => create({ memoryMib }, headers)));
      for (const { status, told } of answers) expect([status, told.id]).toEqual([201, member?.id]);
      const listed = (await (await call('GET', '/v1/sandboxes?alive=true')).json()) as { items: unknown[] };
      expect(listed.items).toHaveLength(1);
      await pool.end();
    });
  }

  test('leads to one sandbox when another caller has claimed its member before the retry', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 }, { lookMs: 600_000, quietMs: 600_000, patienceMs: 0 });
    const [member] = await pool.warm(1);
    const headers = keyed();
    const dying = await dyingAtClaim('before');
    await callsIn(dying, pool, mayfly).create({}, headers);
    dying.close();
    const { create } = callsIn(door, pool, mayfly);
    expect((await create()).told.id).toBe(member?.id);
    const answers = await Promise.all([1, 2, 3].map(() => create({}, headers)));
    expect(new Set(answers.map(({ told }) => told.id)).size).toBe(1);
    expect(answers[0]?.told.id).not.toBe(member?.id);
    await pool.end();
  });

  test('has one outcome: the first writer wins', async ({ mayfly }) => {
    const { store } = mayfly;
    expect(store.idempotency).toBeInstanceOf(Idempotency);
    const claim: Claim = { apiKeyId: 'k', key: keyed()['Idempotency-Key'], bodyDigest: 'd', subjectId: 'own' };
    await store.idempotency.claim(claim);
    const open = { memberId: null, isFinal: false };
    const to = (memberId: string | null, isFinal: boolean) => ({ memberId, isFinal });
    expect(await store.idempotency.setOutcome(claim, 'own', open, to('a', false))).toBe(true);
    expect(await store.idempotency.setOutcome(claim, 'own', open, to('b', false))).toBe(false);
    expect(await store.idempotency.setOutcome(claim, 'own', to('a', false), to('a', true))).toBe(true);
    expect(await store.idempotency.setOutcome(claim, 'own', to('a', false), to(null, true))).toBe(false);
    expect(await store.idempotency.getOutcome(claim)).toEqual(to('a', true));
  });
});
