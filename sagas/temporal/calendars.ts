import { type CalendarSpec, DAYS_OF_WEEK, MONTHS, type ScheduleSpec as TemporalSpec } from '@temporalio/client';
import { namedTimes } from '../../model/schedules/clock-changes.ts';
import { readCron } from '../../model/schedules/cron.ts';
import { everySeconds } from '../../model/schedules/schedule.ts';
import type { Times } from '../../model/schedules/times.ts';
import { zoneOf } from '../../model/schedules/zone.ts';

/** The times as Temporal matches them: of its clocks' fields all have to match, so days of either kind are two calendars. */
export function temporalTimes(
  times: Times,
  now: number,
): Pick<TemporalSpec, 'calendars' | 'skip' | 'intervals' | 'timezone'> {
  if (times.every !== null) return { intervals: [{ every: (everySeconds(times.every) ?? 1) * 1_000 }] };
  const cron = readCron(times.cron ?? '');
  if ('problem' in cron) return {};
  const { minutes, hours, daysOfMonth, months, daysOfWeek, isEither } = cron;
  const clock = { second: 0, minute: rangesOf(minutes), hour: rangesOf(hours), month: months.flatMap(nameOfMonth) };
  const ofMonth = { dayOfMonth: rangesOf(daysOfMonth) };
  const ofWeek = { dayOfWeek: daysOfWeek.flatMap((day) => DAYS_OF_WEEK[day] ?? []) };
  const calendars = isEither
    ? [
        { ...clock, ...ofMonth },
        { ...clock, ...ofWeek },
      ]
    : [{ ...clock, ...ofMonth, ...ofWeek }];
  const { repeated, days, instants } = namedTimes(times, now);
  return {
    calendars: [...calendars, ...days.map((day) => ({ ...clock, ...dateOf(new Date(day)) }))],
    skip: repeated.flatMap(({ from, to }) => calendarsBetween(from, to)),
    intervals: instants.map(onceAt),
    timezone: zoneOf(times.timeZone) ?? 'UTC',
  };
}

/** What clocks show from one time until another, which is not among them: whole minutes, an hour a calendar. */
function calendarsBetween(from: number, to: number): CalendarSpec[] {
  const calendars: CalendarSpec[] = [];
  for (let hour = Math.floor(from / HOUR_MS) * HOUR_MS; hour < to; hour += HOUR_MS) {
    const wall = new Date(hour);
    const first = Math.max(0, (from - hour) / MINUTE_MS);
    calendars.push({
      ...dateOf(wall),
      hour: wall.getUTCHours(),
      minute: { start: first, end: Math.min(59, (to - hour) / MINUTE_MS - 1) },
      second: 0,
    });
  }
  return calendars;
}

function dateOf(wall: Date) {
  const month = nameOfMonth(wall.getUTCMonth() + 1);
  return { year: wall.getUTCFullYear(), month, dayOfMonth: wall.getUTCDate() };
}

/** Also 40 years before and after: that is no time of any schedule. */
function onceAt(at: number) {
  return { every: ONCE_MS, offset: at % ONCE_MS };
}

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];
/** Milliseconds: 40 years. */
const ONCE_MS = 40 * 366 * 86_400_000;

function nameOfMonth(month: number) {
  return MONTHS.slice(month - 1, month);
}

/** Values that follow each other, as one range. */
function rangesOf(values: readonly number[]): { start: number; end: number }[] {
  const ranges: { start: number; end: number }[] = [];
  for (const value of values) {
    const last = ranges.at(-1);
    if (last?.end === value - 1) last.end = value;
    else ranges.push({ start: value, end: value });
  }
  return ranges;
}
