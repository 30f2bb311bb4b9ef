import { describe, expect, it } from 'vitest';
import { DEMAND_SECONDS, getTargetSize, planPool, selectRecentDemand } from '../../../model/pools/plan.ts';
import type { PoolSpec } from '../../../model/pools/pool.ts';
import { DEFAULT_POOL_TIMES, type PoolMember, type PoolObservation } from '../../../model/pools/pool-saga.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;
const wish: PoolSpec = { source: 'golden', cpus: null, memoryMib: null, egress: 'none', min: 2, max: 10 };

function member(n: number, changes: Partial<PoolMember> = {}): PoolMember {
  const at = new Date(NOW - MINUTE + n).toISOString();
  const place = { hostId: 'kvm-1', installationId: null };
  return {
    sandboxId: `m${n}`,
    stage: 'warm',
    ...place,
    revision: 7,
    content: 'c',
    memoryMib: 64,
    createdAt: at,
    warmAt: at,
    ...changes,
  };
}

const warm = (count: number) => Array.from({ length: count }, (_, n) => member(n));

function sight(members: PoolMember[], changes: Partial<PoolObservation> = {}): PoolObservation {
  return {
    isRecorded: true,
    members,
    cpus: 16,
    making: 0,
    creates: 0,
    contents: { 'kvm-1': 'c' },
    drainedHostIds: [],
    ...changes,
  };
}

const standing = {
  wish,
  revision: 7,
  demand: [],
  refillSeconds: 10,
  shrunkAt: NOW,
  times: DEFAULT_POOL_TIMES,
  begun: 0,
  silent: new Set<string>(),
};
const ids = (members: PoolMember[]) => members.map(({ sandboxId }) => sandboxId);

describe("a pool's target", () => {
  it('is 1.5 × the claims during one creation, within its bounds', () => {
    const demand = (perSecond: number) => [{ second: NOW / 1_000, count: perSecond * DEMAND_SECONDS }];
    expect(getTargetSize(wish, [], 10)).toBe(2);
    expect(getTargetSize(wish, demand(0.2), 10)).toBe(3);
    expect(getTargetSize(wish, demand(0.5), 10)).toBe(8);
    expect(getTargetSize(wish, demand(5), 10)).toBe(10);
  });

  it('counts claims of the last five minutes only', () => {
    const second = NOW / 1_000;
    const old = { second: second - DEMAND_SECONDS, count: 9 };
    const fresh = { second: second - DEMAND_SECONDS + 1, count: 1 };
    expect(selectRecentDemand([old, fresh], NOW)).toEqual([fresh]);
  });
});

describe('a pool creates', () => {
  it('missing members at once, less those in creation', () => {
    expect(planPool(sight([]), standing, NOW)).toMatchObject({ wanted: 2, make: 2, retire: [] });
    expect(planPool(sight([member(1, { stage: 'making', warmAt: null })]), standing, NOW).make).toBe(1);
    expect(planPool(sight([]), { ...standing, begun: 2 }, NOW).make).toBe(0);
    expect(planPool(sight([member(1, { stage: 'ending' })]), standing, NOW).make).toBe(2);
  });

  it('on half of the processors, shared with other pools, at least on one', () => {
    const many = { ...standing, wish: { ...wish, min: 9 } };
    expect(planPool(sight([], { cpus: 8 }), many, NOW).make).toBe(4);
    expect(planPool(sight([], { cpus: 8, making: 3 }), many, NOW).make).toBe(1);
    expect(planPool(sight([], { cpus: 1 }), many, NOW).make).toBe(1);
    expect(planPool(sight([], { cpus: 1, making: 1 }), many, NOW).make).toBe(0);
  });
});

describe('a pool retires', () => {
  it('members of an older revision or other content, and unresponsive ones, at once, and creates others', () => {
    const members = [member(1, { revision: 6 }), member(2, { content: 'old' }), member(3), member(4)];
    const plan = planPool(sight(members), { ...standing, silent: new Set(['m3']) }, NOW);
    expect(ids(plan.retire)).toEqual(['m1', 'm2', 'm3']);
    expect(plan.make).toBe(1);
  });

  it('all members on a drained host', () => {
    expect(ids(planPool(sight(warm(2), { drainedHostIds: ['kvm-1'] }), standing, NOW).retire)).toEqual(['m0', 'm1']);
    expect(planPool(sight(warm(2), { drainedHostIds: ['kvm-2'] }), standing, NOW).retire).toEqual([]);
  });

  it('an old member once its replacement is ready', () => {
    const warmAt = new Date(NOW - DEFAULT_POOL_TIMES.replaceMs).toISOString();
    const old = [member(1, { warmAt }), member(2, { warmAt })];
    expect(planPool(sight(old), standing, NOW)).toMatchObject({ make: 2, retire: [] });
    expect(planPool(sight([...old, member(3)]), standing, NOW)).toMatchObject({ make: 1, retire: [] });
    expect(ids(planPool(sight([...old, member(3), member(4)]), standing, NOW).retire)).toEqual(['m1', 'm2']);
  });

  it('the oldest surplus member every five minutes, and all beyond its maximum at once', () => {
    expect(planPool(sight(warm(5)), { ...standing, shrunkAt: NOW - 4 * MINUTE }, NOW).retire).toEqual([]);
    const plan = planPool(sight(warm(5)), { ...standing, shrunkAt: NOW - 5 * MINUTE }, NOW);
    expect(ids(plan.retire)).toEqual(['m0']);
    expect(plan.isShrinking).toBe(true);
    const small = { ...standing, wish: { ...wish, max: 2 } };
    expect(ids(planPool(sight(warm(5)), small, NOW).retire)).toEqual(['m0', 'm1', 'm2']);
  });
});
