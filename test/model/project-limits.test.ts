import { describe, expect, it } from 'vitest';
import { type Admissions, addAdmissions, checkCreateLimits, getUsage, NO_LIMITS } from '../../model/project-limits.ts';

const NOW = Date.UTC(2026, 0, 1);
const NONE: Admissions = { pending: [], creates: [] };
const one = (n: number, cpus = 1, memoryMib = 64) => ({ sandboxId: `sbx-${n}`, cpus, memoryMib });
const life = (n: number, endsInSeconds = 3_600) => ({
  ...one(n),
  expiresAt: new Date(NOW + endsInSeconds * 1_000).toISOString(),
});

// Guards: a project's quota counts living and admitted sandboxes, each once. Costs nothing.
describe('the quotas of a project', () => {
  it('count recorded and pending sandboxes, each once', () => {
    const admissions = addAdmissions(NONE, [one(1), one(2, 4, 512)], NOW);
    expect(getUsage(admissions, [life(1), life(3)], NOW)).toEqual({
      sandboxes: 3,
      cpus: 6,
      memoryMib: 640,
      createsLastMinute: 2,
    });
  });

  it.each([
    [{ sandboxes: 2 }, 'may have 2 sandboxes at once and has 1; this is 2 more'],
    [{ cpus: 3 }, 'may have 3 virtual CPUs at once and has 1; this is 3 more'],
    [{ memoryMib: 200 }, 'may have 200 MiB of memory at once and has 64; this is 192 more'],
    [{ createsPerMinute: 1 }, 'may have 1 new sandboxes within a minute and has 0; this is 2 more'],
  ])('%j refuses both of two, or none', (limit, message) => {
    const limits = { ...NO_LIMITS, ...limit };
    const known = { admissions: NONE, living: [life(1)], now: NOW };
    expect(checkCreateLimits(limits, known, [one(2), one(3, 2, 128)])?.message).toBe(message);
    expect(checkCreateLimits(NO_LIMITS, known, [one(2), one(3, 2, 128)])).toBeNull();
  });

  it('return the delay until the next end, within a minute; none for an impossible create', () => {
    const limits = { ...NO_LIMITS, sandboxes: 2 };
    const retryAfter = (seconds: number[], wanted = 1) => {
      const living = seconds.map((inSeconds, n) => life(n, inSeconds));
      const wishes = Array.from({ length: wanted }, (_, n) => one(100 + n));
      return checkCreateLimits(limits, { admissions: NONE, living, now: NOW }, wishes)?.retryAfterSeconds;
    };
    expect([retryAfter([3_600, 3_600]), retryAfter([3_600, 20]), retryAfter([-5, 20]), retryAfter([], 3)]).toEqual([
      60,
      20,
      1,
      null,
    ]);
  });

  it('a rate covers the last 60 s, for any clock, and returns the delay', () => {
    const limits = { ...NO_LIMITS, createsPerMinute: 3 };
    let admissions = addAdmissions(NONE, [one(1)], NOW);
    admissions = addAdmissions(admissions, [one(2), one(3)], NOW + 30_000);
    const excess = (atMs: number, wanted = 1) =>
      checkCreateLimits(
        limits,
        { admissions, living: [], now: NOW + atMs },
        Array.from({ length: wanted }, (_, n) => one(9 + n)),
      );
    expect(excess(30_000)?.retryAfterSeconds).toBe(30);
    expect(excess(59_999)?.retryAfterSeconds).toBe(1);
    expect([excess(60_000), excess(60_000, 2)?.retryAfterSeconds]).toEqual([null, 30]);
    expect([excess(-3_600_000), excess(3_600_000)]).toEqual([null, null]);
    expect(addAdmissions(admissions, [one(4)], NOW + 95_000).creates).toHaveLength(1);
  });
});
