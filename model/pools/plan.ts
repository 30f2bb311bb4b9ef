import type { PoolWish } from './pool.ts';
import type { Demand, PoolMember, PoolSight, PoolTimes } from './pool-saga.ts';

/** Claims are reckoned over so long. Seconds. */
export const DEMAND_SECONDS = 300;
/** More than as many as are claimed while one is made. */
const MARGIN = 1.5;

interface PoolPlan {
  /** Members that are to be. */
  wanted: number;
  /** So many are made now. */
  make: number;
  /** More are missing, for which others leave no room yet. */
  isWaiting: boolean;
  /** These are claimed no more. */
  retire: PoolMember[];
  /** Some of these since there are too many. */
  isShrinking: boolean;
}

interface Standing {
  wish: PoolWish;
  revision: number;
  demand: readonly Demand[];
  /** That one takes to be made. Seconds. */
  refillSeconds: number;
  /** When it last let one go of which it had too many, milliseconds since 1970. */
  shrunkAt: number;
  times: Pick<PoolTimes, 'replaceMs' | 'shrinkMs'>;
  /** Begun, and not in the store yet. */
  begun: number;
  /** Members that do not answer. */
  silent: ReadonlySet<string>;
}

/** How many a pool wants: what is claimed while one is made, and half as many again. */
export function wantedOf({ min, max }: PoolWish, demand: readonly Demand[], refillSeconds: number): number {
  const claims = demand.reduce((sum, { count }) => sum + count, 0);
  return Math.min(max, Math.max(min, Math.ceil((MARGIN * claims * refillSeconds) / DEMAND_SECONDS)));
}

/** The demand that still counts. @param now milliseconds since 1970 */
export function lately(demand: readonly Demand[], now: number): Demand[] {
  return demand.filter(({ second }) => second > now / 1_000 - DEMAND_SECONDS);
}

/**
 * What a pool does now. What is being made counts as if it were there. An old member goes when another is there in its
 * stead, so that nobody finds the pool empty for its age; one that is not what is wished for, or does not answer, at once.
 */
export function planOf(sight: PoolSight, standing: Standing, now: number): PoolPlan {
  const { wish, revision, demand, refillSeconds, times, begun, silent } = standing;
  const wanted = wantedOf(wish, lately(demand, now), refillSeconds);
  const living = sight.members.filter(({ stage }) => stage !== 'ending');
  const isUnfit = (member: PoolMember) =>
    member.revision !== revision ||
    silent.has(member.sandboxId) ||
    isDrained(member, sight) ||
    isStale(member, sight.contents);
  const unfit = living.filter(isUnfit);
  const fit = living.filter((member) => !isUnfit(member));
  const isOld = ({ warmAt }: PoolMember) => warmAt !== null && now - Date.parse(warmAt) >= times.replaceMs;
  const old = fit.filter(isOld);
  const fresh = fit.filter((member) => !isOld(member));
  const coming = fresh.length + begun;
  const ready = fresh.filter(({ stage }) => stage === 'warm');
  const replaced = ready.length >= wanted ? old : [];
  const tooMany = Math.max(coming - wish.max, coming > wanted && mayShrink(standing, now) ? 1 : 0);
  const surplus = oldestOf(ready).slice(0, Math.max(0, tooMany));
  const room = Math.max(0, Math.max(1, Math.floor(sight.cpus / 2)) - sight.making - begun);
  return {
    wanted,
    make: Math.min(room, Math.max(0, wanted - coming)),
    isWaiting: wanted - coming > room,
    retire: [...unfit, ...replaced, ...surplus],
    isShrinking: surplus.length > 0,
  };
}

function isDrained({ stage, hostId }: PoolMember, { drainedHostIds }: PoolSight): boolean {
  return stage === 'warm' && hostId !== null && drainedHostIds.includes(hostId);
}

/** Its source holds something else than when it was made. One that has no host yet is asked by that. */
function isStale({ stage, hostId, content }: PoolMember, contents: PoolSight['contents']): boolean {
  if (stage !== 'warm' || hostId === null || !(hostId in contents)) return false;
  return contents[hostId] !== content;
}

function mayShrink({ shrunkAt, times }: Standing, now: number): boolean {
  return now - shrunkAt >= times.shrinkMs;
}

function oldestOf(members: readonly PoolMember[]): PoolMember[] {
  return members.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
}
