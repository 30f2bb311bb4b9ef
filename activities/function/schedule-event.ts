import { readAttributes } from '../../model/events/attributes.ts';
import { wrapInEvent } from '../../model/events/binary-mode.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import {
  type DueTime,
  getEventSource,
  type ScheduleRecord,
  type ScheduleTime,
} from '../../model/schedules/schedule.ts';

export function timeRecord(
  { project, name }: ScheduleRecord,
  { at, localTime, triggerId }: Omit<DueTime, 'overlap'>,
  { state, reason = null, detail = null, runId = null }: Pick<ScheduleTime, 'state'> & Partial<ScheduleTime>,
): ScheduleTime {
  const recordedAt = new Date().toISOString();
  return { project, schedule: name, at, localTime, triggerId, state, reason, detail, runId, recordedAt };
}

/** Returns the event of one tick of a schedule; the id is a function of the tick. */
export function eventOf(
  record: ScheduleRecord,
  { at, localTime, triggerId, spec }: DueTime & { spec: Pick<ScheduleRecord, 'cron' | 'dst' | 'event'> },
): ReceivedEvent {
  const { type, subject, data } = spec.event;
  const isFirst = spec.dst.repeat === 'first' && spec.cron !== null;
  const ownId = isFirst ? localTime : at;
  const attributes = readAttributes([
    ['specversion', '1.0'],
    ['id', `${record.name}/${triggerId === null ? ownId : `trigger/${triggerId}`}`],
    ['source', getEventSource(record)],
    ['type', type],
    ['time', at],
    ['datacontenttype', 'application/json'],
    ...(subject === null ? [] : [['subject', subject] as const]),
    ['localtime', localTime],
    ['firedtime', new Date().toISOString()],
  ]);
  return wrapInEvent(attributes, new TextEncoder().encode(data ?? ''));
}
