import type { PoolSpec } from './pool.ts';
import type { Demand, PoolMember, PoolObservation, PoolTimes } from './pool-saga.ts';

/** Window of the demand, seconds. */
export const DEMAND_SECONDS = 300;
/** Factor over the claims expected during a refill. */
const MARGIN = 1.5;

interface PoolPlan {
  /** Target number of members. */
  wanted: number;
  /** Members to create now. */
  make: number;
  /** True when more are missing, but capacity for creates is used up. */
  isWaiting: boolean;
  /** Members to withdraw from claims. */
  retire: PoolMember[];
  /** True when some of them are surplus. */
  isShrinking: boolean;
}

interface PlanInputs {
  wish: PoolSpec;
  revision: number;
  demand: readonly Demand[];
  /** Duration of a member's creation, seconds. */
  refillSeconds: number;
  /** Time of the last surplus retirement, ms since 1970. */
  shrunkAt: number;
  times: Pick<PoolTimes, 'replaceMs' | 'shrinkMs'>;
  /** Members being created without a record in the store. */
  begun: number;
  /** Members that do not answer probes. */
  silent: ReadonlySet<string>;
}

/** Returns the target of a pool: 1.5 × the claims expected while a member is created. */
export function getTargetSize({ min, max }: PoolSpec, demand: readonly Demand[], refillSeconds: number): number {
  const claims = demand.reduce((sum, { count }) => sum + count, 0);
  return Math.min(max, Math.max(min, Math.ceil((MARGIN * claims * refillSeconds) / DEMAND_SECONDS)));
}

/** Returns the demand within the window. @param now ms since 1970 */
export function selectRecentDemand(demand: readonly Demand[], now: number): Demand[] {
  return demand.filter(({ second }) => second > now / 1_000 - DEMAND_SECONDS);
}

/**
 * Plans the next actions of a pool. Members being created count as present. An old member is retired only when another
 * is ready, so that age never empties the pool; an unfit or unresponsive one at once.
 */
export function planPool(sight: PoolObservation, standing: PlanInputs, now: number): PoolPlan {
  const { wish, revision, demand, refillSeconds, times, begun, silent } = standing;
  const wanted = getTargetSize(wish, selectRecentDemand(demand, now), refillSeconds);
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

function isDrained({ stage, hostId }: PoolMember, { drainedHostIds }: PoolObservation): boolean {
  return stage === 'warm' && hostId !== null && drainedHostIds.includes(hostId);
}

/**
 * True when the source's content on its host has changed since the creation. Members without a host are not checked.
 */
function isStale({ stage, hostId, content }: PoolMember, contents: PoolObservation['contents']): boolean {
  if (stage !== 'warm' || hostId === null || !(hostId in contents)) return false;
  return contents[hostId] !== content;
}

function mayShrink({ shrunkAt, times }: PlanInputs, now: number): boolean {
  return now - shrunkAt >= times.shrinkMs;
}

function oldestOf(members: readonly PoolMember[]): PoolMember[] {
  return members.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
}
