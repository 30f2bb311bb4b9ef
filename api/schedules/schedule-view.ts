import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { RawJson } from '../../model/events/json/raw-json.ts';
import type { ScheduleRecord, ScheduleTime } from '../../model/schedules/schedule.ts';
import { LAST_TIME, nextRun, type Occurrence, timesBetween } from '../../model/schedules/times.ts';
import { timeKeyOf } from '../../store/schedules/schedule-times.ts';
import type { nextTimes, scheduleAnswer, scheduleTime } from './schedule-schemas.ts';

export function scheduleView(record: ScheduleRecord): z.infer<typeof scheduleAnswer> {
  const {
    revision: _revision,
    specSince: _since,
    past: _past,
    pauses: _pauses,
    handledUntil: _until,
    lookAt: _look,
    asks: _asks,
    counted: _counted,
    deletedAt: _deleted,
    ...shown
  } = record;
  const next = record.pausedAt === null ? nextRun(record, Date.now()) : null;
  const { data, ...event } = record.event;
  const withData = { ...event, ...(data !== undefined && { data: new RawJson(data) }) };
  return { ...shown, event: withData, nextAt: next && new Date(next.at).toISOString() };
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

export function timeView({ project: _project, schedule: _name, ...time }: ScheduleTime): z.infer<typeof scheduleTime> {
  return time;
}

const POSITION = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z\/[\dT:.Z-]{16,24}(?:\/[0-9a-f]+)?$/;

export function cursorOfTime(time: ScheduleTime): string {
  return Buffer.from(timeKeyOf(time)).toString('base64url');
}

/** @throws MayflyError invalid_request */
export function positionOfCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const position = Buffer.from(cursor, 'base64url').toString('latin1');
  if (POSITION.test(position)) return position;
  throw new MayflyError('invalid_request', 'The cursor is not one that a list returned.', {
    fields: [{ field: 'cursor', problem: 'must be a `nextCursor` of an earlier answer' }],
  });
}
