import type { MissedReason, ScheduleRecord } from './schedule.ts';
import type { Occurrence } from './times.ts';

/** What Temporal has ever counted of a schedule. */
export interface Counted {
  /** Times that it came to too late; it may count one again. */
  missed: number;
  /** Times that its buffer had no room for. */
  dropped: number;
}

/** What is known of times that have passed, and of which nothing is written down. */
export interface Passed {
  /** In their order. */
  open: readonly Occurrence[];
  /** Those whose workflows were begun. Milliseconds since 1970. */
  begun: ReadonlySet<number>;
  /** How many wait in Temporal's buffer. */
  waiting: number;
  counted: Counted;
  /** When Temporal was told of the schedule. ISO 8601. */
  createdAt: string;
  now: number;
}

export interface Lost {
  time: Occurrence;
  reason: MissedReason;
}

type Schedule = Pick<ScheduleRecord, 'overlap' | 'catchupWindowSeconds' | 'pausedAt' | 'pauses' | 'counted'>;

/** What was begun long ago and was not heard of: nobody begins it any more. Milliseconds. */
const FORGOTTEN_MS = 86_400_000;

/**
 * Which times have no run, and will have none. Temporal says how many wait, and not which: of those that overlap it keeps the
 * first, or the last where that cancels others.
 * @returns `openFrom`: the first of which that is not known yet; null: it is known of all. `waiting`: how many wait
 */
export function lostTimes(
  schedule: Schedule,
  passed: Passed,
): { lost: Lost[]; openFrom: number | null; waiting: number } {
  const lost: Lost[] = [];
  const open: number[] = [];
  const rest: Occurrence[] = [];
  for (const time of passed.open) {
    const reason = ownReason(schedule, time);
    if (reason) lost.push({ time, reason });
    else if (passed.begun.has(time.at)) open.push(time.at);
    else rest.push(time);
  }
  const { gone, waiting } = parted(schedule, passed, rest);
  open.push(...waiting.map(({ at }) => at));
  const full = Math.max(0, passed.counted.dropped - schedule.counted.dropped);
  for (const [place, time] of gone.entries()) {
    const late = isLate(schedule, passed, time) ? 'catch-up' : 'overlap';
    lost.push({ time, reason: place >= gone.length - full ? 'buffer' : late });
  }
  return { lost, openFrom: open.length === 0 ? null : Math.min(...open), waiting: waiting.length };
}

function ownReason({ pausedAt, pauses }: Schedule, { at, dst, isRun }: Occurrence): MissedReason | null {
  if (!isRun && dst !== null) return dst;
  if (pausedAt !== null && at >= Date.parse(pausedAt)) return 'paused';
  return pauses.some(({ from, to }) => at >= Date.parse(from) && at < Date.parse(to)) ? 'paused' : null;
}

/** Whether Temporal came to it too late, or was told of the schedule then. */
function isLate({ catchupWindowSeconds, counted }: Schedule, passed: Passed, { at }: Occurrence): boolean {
  if (passed.now - at <= catchupWindowSeconds * 1_000) return false;
  return passed.counted.missed > counted.missed || at < Date.parse(passed.createdAt);
}

function parted(schedule: Schedule, passed: Passed, times: readonly Occurrence[]) {
  const { waiting: count, now } = passed;
  if (schedule.overlap === 'allow-all') {
    const isFull = passed.counted.dropped > schedule.counted.dropped;
    const isGone = (time: Occurrence) => isFull || isLate(schedule, passed, time) || now - time.at > FORGOTTEN_MS;
    return { gone: times.filter(isGone), waiting: times.filter((time) => !isGone(time)) };
  }
  const from = schedule.overlap === 'cancel-other' ? Math.max(0, times.length - count) : count;
  const [first, last] = [times.slice(0, from), times.slice(from)];
  return schedule.overlap === 'cancel-other' ? { gone: first, waiting: last } : { gone: last, waiting: first };
}
