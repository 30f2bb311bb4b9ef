import { LIMITS } from '../../model/limits.ts';
import type { MissedReason, ScheduleRecord, ScheduleTime } from '../../model/schedules/schedule.ts';

const DAY_MS = 86_400_000;

/** Record of a time, or of a trigger, that has no run. Times are milliseconds since 1970. */
export function missedTime(
  { project, name }: Pick<ScheduleRecord, 'project' | 'name'>,
  { at, localTime, triggerId }: { at: number; localTime: string; triggerId: string | null },
  why: { reason: MissedReason; detail: string | null },
  now: number,
): ScheduleTime {
  const time = { project, schedule: name, at: new Date(at).toISOString(), localTime, triggerId };
  return { ...time, state: 'missed', ...why, runId: null, recordedAt: new Date(now).toISOString() };
}

/** When a record that is written now is removed. ISO 8601. */
export function keptUntil(now: number): string {
  return new Date(now + LIMITS.functions.schedules.timesDays * DAY_MS).toISOString();
}
