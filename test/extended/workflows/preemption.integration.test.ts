import { describe, expect } from 'vitest';
import { GONE_WITHIN_MS } from '../../../activities/pool/preemption.ts';
import type { ProjectLimits } from '../../../model/project-limits.ts';
import { UNMEASURED_BYTES } from '../../../model/snapshots/storage.ts';
import { useTestDoor } from '../../support/door.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { callsIn, TestPool } from '../../support/pool.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test, alone, mayfly: all } = useSagaCases({ kind: 'in-memory' });

const door = useTestDoor(all);

/** Retry pause of an evicted pool: longer than a test. */
const FOR_LONG = { retryMs: 600_000, longestRetryMs: 600_000 };
/** Retry pause longer than a create waits for members to end. */
const LATER = { retryMs: 25_000, longestRetryMs: 25_000 };
/** Longer than Mayfly waits for evicted members. */
const SLOW_MS = GONE_WITHIN_MS + 1_000;
/** Memory of a member, MiB: two leave no room on the host for a third, or for {@link OTHER_MIB}. */
const LARGE_MIB = 45_000;
const OTHER_MIB = 30_000;

async function limitedPool(mayfly: MayflyCase, limits: Partial<ProjectLimits>): Promise<TestPool> {
  const pool = await TestPool.in(mayfly);
  await mayfly.store.projects.change(pool.project, { limits });
  return pool;
}

async function statesOf(mayfly: MayflyCase, members: readonly { id: string }[]): Promise<string[]> {
  const records = await Promise.all(members.map(({ id }) => mayfly.record(id)));
  return records.map(({ state, stopReason }) => stopReason ?? state).toSorted();
}

// Sequential: members of concurrent tests would wait for each other.
describe('the quota of a project', () => {
  const full: [string, Partial<ProjectLimits>][] = [
    ['sandboxes', { sandboxes: 3 }],
    ['memory', { memoryMib: 3 * 64 + 63 }],
    ['disks', { diskBytes: 3 * UNMEASURED_BYTES }],
  ];
  for (const [what, limits] of full) {
    alone(
      `of ${what} is full of members: one gives way to a create, and its pool makes no other at once`,
      async ({ mayfly }) => {
        const pool = await limitedPool(mayfly, limits);
        await pool.set({ min: 3, max: 3 }, FOR_LONG);
        const members = await pool.warm(3);
        const { create } = callsIn(door, pool, mayfly);
        expect(await create({ memoryMib: 65 })).toMatchObject({ status: 201, told: { state: 'running' } });
        expect(await statesOf(mayfly, members)).toEqual(['retired', 'warm', 'warm']);
        const degraded = await pool.until(({ state }) => state === 'degraded');
        expect(degraded.reason).toContain('quota_exceeded');
        expect(Date.parse(degraded.retryAt ?? '')).toBeGreaterThan(Date.now());
        expect(await pool.members()).toHaveLength(2);
        expect(await create()).toMatchObject({ status: 201, told: { boot: { way: 'warm' } } });
        await pool.end();
      },
    );
  }

  alone(
    'is claimed and given up at once: each member is one caller’s or gone, and all are served',
    async ({ mayfly }) => {
      const pool = await limitedPool(mayfly, { sandboxes: 6 });
      await pool.set({ min: 6, max: 6 }, FOR_LONG);
      const members = await pool.warm(6);
      const { create } = callsIn(door, pool, mayfly);
      const wishes = [{}, { boot: 'cold' }, {}, { boot: 'cold' }, {}, { boot: 'cold' }];
      const answers = await Promise.all(wishes.map((wish) => create(wish)));
      expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201));
      expect(new Set(answers.map(({ told }) => told.id)).size).toBe(6);
      for (const { id } of members) {
        const { state, stopReason, pool: membership } = await mayfly.record(id);
        const isSomebodys = answers.some(({ told }) => told.id === id);
        expect(membership?.claimedBy !== null).toBe(isSomebodys);
        expect([state, stopReason]).toEqual(isSomebodys ? ['running', null] : ['destroyed', 'retired']);
      }
      await pool.end();
    },
  );

  alone('loses no member to what it may not have anyway', async ({ mayfly }) => {
    const pool = await limitedPool(mayfly, { memoryMib: 192 });
    await pool.set({ min: 3, max: 3 }, FOR_LONG);
    const members = await pool.warm(3);
    const { create } = callsIn(door, pool, mayfly);
    expect((await create({ memoryMib: 193 })).told.code).toBe('quota_exceeded');
    await mayfly.store.projects.change(pool.project, { limits: { createsPerMinute: 3 } });
    expect((await create({ boot: 'cold' })).told.code).toBe('project_quota_exceeded');
    expect(await statesOf(mayfly, members)).toEqual(['warm', 'warm', 'warm']);
    await pool.end();
  });

  alone('of disks is full of members, and one cannot end: another gives way', async ({ mayfly }) => {
    const pool = await limitedPool(mayfly, { diskBytes: 3 * UNMEASURED_BYTES });
    await pool.set({ min: 3, max: 3 }, FOR_LONG);
    const [stuck, ...others] = await pool.warm(3);
    mayfly.arm('removeDomain.before=error', stuck?.id ?? '');
    const { create } = callsIn(door, pool, mayfly);
    const input = { ...mayfly.input(), id: stuck?.id ?? '', begin: 'destroy' as const };
    await mayfly.sagas.sandboxes.destroy(input, { actor: input.createdBy });
    await mayfly.until(input.id, ({ waitingFor }) => waitingFor !== null);
    expect(await create({ boot: 'cold' })).toMatchObject({ status: 201, told: { state: 'running' } });
    expect(await statesOf(mayfly, others)).toEqual(['retired', 'warm']);
    expect(await mayfly.record(input.id)).toMatchObject({ state: 'destroying' });
    mayfly.disarm();
    await pool.end();
  });

  alone('of creates within a minute is half its callers’', async ({ mayfly }) => {
    const pool = await limitedPool(mayfly, { createsPerMinute: 4 });
    await pool.set({ min: 4, max: 4 }, FOR_LONG);
    await pool.until(({ reason }) => reason?.includes('project_quota_exceeded') ?? false);
    const made = async () => (await mayfly.store.admissions.useOf(pool.project)).createsLastMinute;
    expect(await made()).toBeLessThanOrEqual(2);
    const { create } = callsIn(door, pool, mayfly);
    const answers = await Promise.all([1, 2].map(() => create({ boot: 'cold' })));
    expect(answers).toMatchObject(Array(2).fill({ status: 201, told: { state: 'running' } }));
    expect(await made()).toBeLessThanOrEqual(4);
    await pool.end();
  });
});

describe.concurrent('a project whose members', () => {
  test('end for several creates at once has room for each, and its pool refills later', async ({ mayfly }) => {
    const pool = await limitedPool(mayfly, { sandboxes: 3 });
    await pool.set({ min: 3, max: 3 }, LATER);
    await pool.warm(3);
    const { create } = callsIn(door, pool, mayfly);
    const answers = await Promise.all([1, 2, 3].map(() => create({ boot: 'cold' })));
    expect(answers.map(({ status, told }) => [status, told.state])).toEqual(Array(3).fill([201, 'running']));
    expect((await create({ boot: 'cold' })).told.code).toBe('project_quota_exceeded');
    await Promise.all(answers.map(({ told }) => mayfly.destroy(told.id)));
    expect(await pool.until(({ state }) => state === 'ready')).toMatchObject({ reason: null });
    await pool.warm(3);
    await pool.end();
  });

  test('end slowly loses no further member', async ({ mayfly }) => {
    const pool = await limitedPool(mayfly, { diskBytes: 3 * UNMEASURED_BYTES });
    await pool.set({ min: 3, max: 3 }, FOR_LONG);
    const members = await pool.warm(3);
    for (const { id } of members) mayfly.arm(`removeDomain.before=1*delay(${SLOW_MS})`, id);
    const { create } = callsIn(door, pool, mayfly);
    expect(await create()).toMatchObject({ status: 201, told: { boot: { way: 'warm' } } });
    expect(await create({ boot: 'cold' })).toMatchObject({ status: 201, told: { state: 'running' } });
    expect(await statesOf(mayfly, members)).toEqual(['retired', 'running', 'warm']);
    mayfly.disarm();
    await pool.end();
  });
});

// These fill the host, where members of any pool are evicted.
alone(
  'a host that is full of members takes a create in their place, and no more of them than it needs',
  async ({ mayfly }) => {
    const [pool, other] = [await TestPool.in(mayfly), await TestPool.in(mayfly)];
    await pool.set({ min: 2, max: 2, memoryMib: LARGE_MIB }, FOR_LONG);
    const members = await pool.warm(2);
    const { create } = callsIn(door, other, mayfly);
    const { status, told } = await create({ memoryMib: OTHER_MIB });
    expect([status, told.state]).toEqual([201, 'running']);
    expect(told.steps.map(({ step }) => step)).toContain('evictMembers');
    expect(await statesOf(mayfly, members)).toEqual(['retired', 'warm']);
    expect((await pool.until(({ state }) => state === 'degraded')).reason).toContain('capacity_exhausted');
    await mayfly.destroy(told.id);
    await pool.end();
  },
);

alone(
  'a host that is full of members gives none up for what is larger than itself, nor for another member',
  async ({ mayfly }) => {
    const [pool, other] = [await TestPool.in(mayfly), await TestPool.in(mayfly)];
    await pool.set({ min: 2, max: 2, memoryMib: LARGE_MIB }, FOR_LONG);
    const members = await pool.warm(2);
    const tooLarge = mayfly.input({ memoryMib: 300_000 });
    expect(await mayfly.create(tooLarge)).toMatchObject({ failure: { code: 'capacity_exhausted', step: 'reserve' } });
    await other.set({ min: 1, max: 1, memoryMib: OTHER_MIB }, FOR_LONG);
    expect((await other.until(({ reason }) => reason !== null)).reason).toContain('capacity_exhausted');
    expect(await statesOf(mayfly, members)).toEqual(['warm', 'warm']);
    await Promise.all([pool.end(), other.end()]);
  },
);

alone('members give way to what is woken', async ({ mayfly, operations }) => {
  const sleeper = await mayfly.create(mayfly.input({ memoryMib: OTHER_MIB }));
  expect(await operations.hibernate(sleeper.id)).toBeNull();
  const pool = await TestPool.in(mayfly);
  await pool.set({ min: 2, max: 2, memoryMib: LARGE_MIB }, FOR_LONG);
  const members = await pool.warm(2);
  expect(await operations.resume(sleeper.id)).toBeNull();
  expect(await statesOf(mayfly, members)).toEqual(['retired', 'warm']);
  await pool.end();
});
