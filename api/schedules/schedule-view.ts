import type { z } from '@hono/zod-openapi';
import { RawJson } from '../../model/events/json/raw-json.ts';
import type { ScheduleRecord, ScheduleTime } from '../../model/schedules/schedule.ts';
import { LAST_TIME, nextRun, type Occurrence, timesBetween } from '../../model/schedules/times.ts';
import { timeKeyOf } from '../../store/schedules/schedule-times.ts';
import { decodeCursor, encodeCursor } from '../../store/sealed/page-cursor.ts';
import type { nextTimes, scheduleAnswer } from './schedule-schemas.ts';

export function scheduleView(record: ScheduleRecord): z.infer<typeof scheduleAnswer> {
  const next = record.pausedAt === null ? nextRun(record, Date.now()) : null;
  const { data, ...event } = record.event;
  const withData = { ...event, ...(data !== undefined && { data: new RawJson(data) }) };
  return { ...record, event: withData, nextAt: next && new Date(next.at).toISOString() };
}

/** Also those that are not run, with what is said of them. */
export function nextView(record: ScheduleRecord, count: number): z.infer<typeof nextTimes> {
  const items: Occurrence[] = [];
  for (const time of timesBetween(record, Date.now(), LAST_TIME)) {
    if (items.length === count) break;
    items.push(time);
  }
  return { items: items.map((time) => ({ ...time, at: new Date(time.at).toISOString() })) };
}

const POSITION = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z\/[\dT:.Z-]{16,24}(?:\/[0-9a-f]+)?$/;

export function cursorOfTime(time: ScheduleTime): string {
  return encodeCursor(timeKeyOf(time));
}

/** @throws MayflyError invalid_request */
export function positionOfCursor(cursor: string | undefined): string | undefined {
  return cursor === undefined ? undefined : decodeCursor(cursor, (text) => POSITION.test(text));
}
