import { LIMITS } from '../limits.ts';
import type { Gathering, RunRecord } from './run.ts';

/** Run whose event waits for a debounce or a batch. */
export type GatheringRun = Pick<
  RunRecord,
  'id' | 'seq' | 'acceptedAt' | 'dueAt' | 'event' | 'eventBytes' | 'versionDigest' | 'gathering'
>;

/** Number of leading runs in a closed group, or the end of the waiting time, ms since 1970. */
type GroupState = { closed: number } | { until: number };

/**
 * Decides whether a group is complete.
 * @param group runs of one key, oldest first
 * @param now ms since 1970
 */
export function closeGroup(group: readonly GatheringRun[], now: number): GroupState {
  const rule = group[0]?.gathering;
  if (!rule) return { until: now };
  const other = group.findIndex(({ gathering }) => gathering?.kind !== rule.kind); // from another version
  const all = other < 0 ? group : group.slice(0, other);
  return rule.kind === 'debounce' ? closeDebounce(all, rule, now) : closeBatch(all, rule, now);
}

/** Returns the newest by event time. */
export function selectNewest<T extends GatheringRun>(all: readonly [T, ...T[]]): T {
  return all.reduce((newest, each) => (eventTime(each) >= eventTime(newest) ? each : newest));
}

type Rule<K> = Extract<Gathering, { kind: K }>;

function closeDebounce(
  all: readonly GatheringRun[],
  { periodMs, maxWaitMs }: Rule<'debounce'>,
  now: number,
): GroupState {
  const end = (all[0] ? dueTimeMs(all[0]) : now) + maxWaitMs;
  let until = end;
  let count = 0;
  for (const each of all.slice(0, LIMITS.functions.debounced)) {
    if (count > 0 && dueTimeMs(each) > until) break;
    until = Math.min(end, dueTimeMs(each) + periodMs);
    count += 1;
  }
  return now >= until || count === LIMITS.functions.debounced ? { closed: count } : { until };
}

function closeBatch(all: readonly GatheringRun[], { maxSize, maxWaitMs }: Rule<'batch'>, now: number): GroupState {
  const [first] = all;
  const until = (first ? dueTimeMs(first) : now) + maxWaitMs;
  let [count, bytes] = [0, 0];
  for (const each of all) {
    bytes += each.eventBytes;
    const isOfOthers = bytes > LIMITS.functions.batchBytes || each.versionDigest !== first?.versionDigest;
    if (count === maxSize || (count > 0 && isOfOthers)) return { closed: count };
    count += 1;
  }
  return count === maxSize || now >= until ? { closed: count } : { until };
}

function dueTimeMs({ acceptedAt, dueAt }: GatheringRun): number {
  return Date.parse(dueAt ?? acceptedAt);
}

/** Returns the event's time; defaults to its acceptance. */
function eventTime({ event, acceptedAt }: GatheringRun): number {
  const time = event.time === null ? Number.NaN : Date.parse(event.time);
  return Number.isNaN(time) ? Date.parse(acceptedAt) : time;
}
