import { z } from 'zod';
import { size } from './fields.ts';

const limit = z.number().nullable();

/** Quotas and rate limits of a project. Null: no limit. */
export const projectLimits = z.object({
  sandboxes: limit.describe('Sandboxes that have not ended, whatever their state'),
  cpus: limit.describe('Virtual CPUs of those'),
  memoryMib: limit.describe('Memory of those. What is paused or hibernated counts: it may go on at any time'),
  diskBytes: limit.describe('What its sandboxes and snapshots take of disks'),
  createsPerMinute: limit.describe('Sandboxes that are asked for within 60 s'),
  streams: limit.describe('Event streams that are open at once at one API process'),
});
export type ProjectLimits = z.infer<typeof projectLimits>;

export const NO_LIMITS: ProjectLimits = {
  sandboxes: null,
  cpus: null,
  memoryMib: null,
  diskBytes: null,
  createsPerMinute: null,
  streams: null,
};

/** Virtual hardware of a sandbox. */
export type Size = z.infer<typeof size>;

/** Sandbox that counts against a quota. */
export interface Counted extends Size {
  sandboxId: string;
}

/** Sandbox that has not ended. */
export interface LivingUsage extends Counted {
  /** End by TTL, ISO 8601. */
  expiresAt: string;
}

/** Admissions of a project that are not yet in the records of its sandboxes. */
export const admissions = z.object({
  pending: z
    .array(z.object({ sandboxId: z.string(), ...size.shape, admittedAt: z.number().describe('ms since 1970') }))
    .describe("Sandboxes that may be made, and have no record yet; times are by the store's clock"),
  creates: z.array(z.object({ second: z.int().describe('Since 1970'), count: z.int() })),
});
export type Admissions = z.infer<typeof admissions>;
type CreatesOfSecond = Admissions['creates'][number];

/** Usage of a project. */
export interface ProjectUsage extends Size {
  sandboxes: number;
  createsLastMinute: number;
}

/** Reason for refusing more. */
interface Excess {
  message: string;
  /** Delay after which a retry may succeed, at most 60; null: the request exceeds the limit itself. */
  retryAfterSeconds: number | null;
}

/** Amount that must be freed. */
export interface Shortage extends Size {
  sandboxes: number;
}

const MINUTE_SECONDS = 60;
const SHORT = ['sandboxes', 'cpus', 'memoryMib'] as const;

/** True when a create must be counted before it starts. */
export function hasCreateLimits({ sandboxes, cpus, memoryMib, createsPerMinute }: ProjectLimits): boolean {
  return [sandboxes, cpus, memoryMib, createsPerMinute].some((limit) => limit !== null);
}

/**
 * Returns the creates of the last 60 s; ignores later ones, left by a clock that was set back.
 * @param now ms since 1970
 */
function recentCreates(creates: readonly CreatesOfSecond[], now: number): CreatesOfSecond[] {
  const current = secondOf(now);
  return creates.filter(({ second }) => second > current - MINUTE_SECONDS && second <= current);
}

/** Adds up usage. @param living sandboxes with a record; one that is also pending counts once */
export function getUsage({ pending, creates }: Admissions, living: readonly Counted[], now: number): ProjectUsage {
  const recorded = new Set(living.map(({ sandboxId }) => sandboxId));
  const all = [...living, ...pending.filter(({ sandboxId }) => !recorded.has(sandboxId))];
  return {
    sandboxes: all.length,
    cpus: sum(all, ({ cpus }) => cpus),
    memoryMib: sum(all, ({ memoryMib }) => memoryMib),
    createsLastMinute: sum(recentCreates(creates, now), ({ count }) => count),
  };
}

/** Returns why the project may not have all of `wanted`; null when it may. */
export function checkCreateLimits(
  limits: ProjectLimits,
  { admissions, living, now }: { admissions: Admissions; living: readonly LivingUsage[]; now: number },
  wanted: readonly Counted[],
): Excess | null {
  const used = getUsage(admissions, living, now);
  const requested = {
    sandboxes: wanted.length,
    cpus: sum(wanted, (one) => one.cpus),
    memoryMib: sum(wanted, memoryOf),
  };
  const until = secondsUntilExpiry(living, now);
  const excesses = [
    excess('sandboxes at once', limits.sandboxes, used.sandboxes, requested.sandboxes, until),
    excess('virtual CPUs at once', limits.cpus, used.cpus, requested.cpus, until),
    excess('MiB of memory at once', limits.memoryMib, used.memoryMib, requested.memoryMib, until),
    excess('new sandboxes within a minute', limits.createsPerMinute, used.createsLastMinute, requested.sandboxes, () =>
      secondsUntilRateAllows(
        recentCreates(admissions.creates, now),
        used.createsLastMinute + requested.sandboxes,
        limits,
        now,
      ),
    ),
  ];
  return excesses.find((one) => one !== null) ?? null;
}

/**
 * Returns the amount that must end before `wanted` fits. Null when evictions would not help: the request alone exceeds
 * a limit, or too many were created within a minute.
 */
export function getShortage(limits: ProjectLimits, use: ProjectUsage, wanted: readonly Counted[]): Shortage | null {
  const { createsPerMinute } = limits;
  if (createsPerMinute !== null && use.createsLastMinute + wanted.length > createsPerMinute) return null;
  const wish = { sandboxes: wanted.length, cpus: sum(wanted, (one) => one.cpus), memoryMib: sum(wanted, memoryOf) };
  const short = { sandboxes: 0, cpus: 0, memoryMib: 0 };
  for (const what of SHORT) {
    const limit = limits[what];
    if (limit === null) continue;
    if (wish[what] > limit) return null;
    short[what] = Math.max(0, use[what] + wish[what] - limit);
  }
  return short;
}

/** Returns the admissions with `wanted` added at `now`. */
export function addAdmissions({ pending, creates }: Admissions, wanted: readonly Counted[], now: number): Admissions {
  const second = secondOf(now);
  const before = recentCreates(creates, now);
  const count = wanted.length + (before.find((one) => one.second === second)?.count ?? 0);
  return {
    pending: [...pending, ...wanted.map((one) => ({ ...one, admittedAt: now }))],
    creates: [...before.filter((one) => one.second !== second), { second, count }],
  };
}

function excess(what: string, limit: number | null, used: number, wanted: number, until: () => number): Excess | null {
  if (limit === null || used + wanted <= limit) return null;
  const message = `may have ${limit} ${what} and has ${used}; this is ${wanted} more`;
  return { message, retryAfterSeconds: wanted > limit ? null : until() };
}

/** Returns seconds until the first sandbox expires, 1 to 60; destroying one makes room sooner. */
function secondsUntilExpiry(living: readonly LivingUsage[], now: number): () => number {
  return () => {
    const ends = living.map(({ expiresAt }) => (Date.parse(expiresAt) - now) / 1_000);
    return Math.ceil(Math.min(MINUTE_SECONDS, Math.max(1, Math.min(...ends))));
  };
}

/** Returns seconds until enough creates are older than a minute. */
function secondsUntilRateAllows(
  creates: readonly CreatesOfSecond[],
  wanted: number,
  { createsPerMinute }: ProjectLimits,
  now: number,
): number {
  let tooMany = wanted - (createsPerMinute ?? wanted);
  for (const { second, count } of creates.toSorted((a, b) => a.second - b.second)) {
    tooMany -= count;
    if (tooMany <= 0) return Math.max(1, second + MINUTE_SECONDS - secondOf(now));
  }
  return MINUTE_SECONDS;
}

function secondOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1_000);
}

function memoryOf({ memoryMib }: Size): number {
  return memoryMib;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
