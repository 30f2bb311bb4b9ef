import { type Cron, matchesDay, parseCron } from './cron.ts';
import { parseInterval, type ScheduleSpec } from './schedule.ts';
import { canonicalZone, getOffsetMs, listTransitions } from './zone.ts';

/** `gap`: skipped by the clocks. `repeat`: second occurrence of a local time. */
type Dst = 'gap' | 'repeat';

/** Time of a schedule. */
export interface Occurrence {
  /** Milliseconds since 1970; for a gap, its end. */
  at: number;
  /** Local time in the zone, real or skipped: `2026-03-29T02:30`. */
  localTime: string;
  dst: Dst | null;
  /** True when the schedule's DST rules let it run. */
  isRun: boolean;
}

export type Times = Pick<ScheduleSpec, 'cron' | 'every' | 'timeZone' | 'startAt' | 'endAt' | 'dst'>;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Last time of any schedule, ms since 1970. */
export const LAST_TIME = Date.UTC(2100, 0, 1) - 1;

/** Yields the times of a schedule after `after` until `until` (ms since 1970), in order. */
export function* eachTimeBetween(times: Times, after: number, until: number): Generator<Occurrence> {
  const from = Math.max(after, times.startAt === null ? -Infinity : Date.parse(times.startAt) - 1);
  const to = Math.min(until, times.endAt === null ? LAST_TIME : Date.parse(times.endAt), LAST_TIME);
  if (times.every !== null) return yield* intervals((parseInterval(times.every) ?? 1) * 1_000, from, to);
  const cron = parseCron(times.cron ?? '');
  const zone = canonicalZone(times.timeZone);
  if (!('problem' in cron) && zone !== null) yield* cronTimes({ cron, zone, dst: times.dst }, from, to);
}

/** Returns the next time with a run; null: none. */
export function findNextRun(times: Times, after: number): Occurrence | null {
  for (const time of eachTimeBetween(times, after, LAST_TIME)) if (time.isRun) return time;
  return null;
}

function* intervals(everyMs: number, after: number, until: number): Generator<Occurrence> {
  for (let at = (Math.floor(after / everyMs) + 1) * everyMs; at <= until; at += everyMs) {
    yield { at, localTime: new Date(at).toISOString(), dst: null, isRun: true };
  }
}

interface CronTimes {
  cron: Cron;
  zone: string;
  dst: ScheduleSpec['dst'];
}

/** Yields cron times, segment by segment between two offset changes of the zone. */
function* cronTimes({ cron, zone, dst }: CronTimes, after: number, until: number): Generator<Occurrence> {
  let [from, offset] = [after, getOffsetMs(zone, after)];
  /** Local times before this have occurred before. */
  let repeatedUntil = listTransitions(zone, after - DAY_MS, after).reduce(
    (latest, { at, before }) => Math.max(latest, at + before),
    -Infinity,
  );
  for (const change of [...changesFrom(zone, after, until), null]) {
    const end = change === null ? until : change.at - 1;
    for (const wall of wallTimes(cron, from + offset, end + offset)) {
      const isRepeat = wall < repeatedUntil;
      yield {
        at: wall - offset,
        localTime: textOf(wall),
        dst: isRepeat ? 'repeat' : null,
        isRun: !isRepeat || dst.repeat === 'both',
      };
    }
    if (change === null) return;
    const [before, behind] = [change.at + change.before, change.at + change.after];
    if (behind > before) yield* gapTimes(cron, change.at, { before, behind, isRun: dst.gap === 'run-after' });
    repeatedUntil = Math.max(repeatedUntil, before);
    [from, offset] = [change.at - 1, change.after];
  }
}

/** Yields offset changes year by year, since the next time is usually near. */
function* changesFrom(zone: string, after: number, until: number) {
  for (let from = after; from < until; from += 366 * DAY_MS) {
    yield* listTransitions(zone, from, Math.min(from + 366 * DAY_MS, until));
  }
}

/** Yields the times within a gap; the first one runs, unless the gap ends at a regular time. */
function* gapTimes(
  cron: Cron,
  at: number,
  { before, behind, isRun }: { before: number; behind: number; isRun: boolean },
): Generator<Occurrence> {
  let isWanted = isRun && wallTimes(cron, behind - 1, behind).next().done === true;
  for (const wall of wallTimes(cron, before - 1, behind - 1)) {
    yield { at, localTime: textOf(wall), dst: 'gap', isRun: isWanted };
    isWanted = false;
  }
}

/** Yields the local times of a cron expression as UTC ms; after `after`, until `until`. */
function* wallTimes(cron: Cron, after: number, until: number): Generator<number> {
  for (let day = Math.floor(after / DAY_MS) * DAY_MS; day <= until; day += DAY_MS) {
    if (!matchesDay(cron, new Date(day))) continue;
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        const wall = day + (hour * 60 + minute) * MINUTE_MS;
        if (wall > until) return;
        if (wall > after) yield wall;
      }
    }
  }
}

function textOf(wall: number): string {
  return new Date(wall).toISOString().slice(0, 16);
}
