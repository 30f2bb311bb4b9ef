import type { ScheduleRecord } from './schedule.ts';

/** The workflow of one schedule: it lives as long as the schedule. */
export const SCHEDULE_WORKFLOW = 'schedule';
export type ScheduleInput = Pick<ScheduleRecord, 'project' | 'name'>;

/** Signal to it, no arguments: its record was changed, or nothing of a run of it is left. */
export const WAKE_SCHEDULE = 'wakeSchedule';

export function scheduleWorkflowIdOf({ project, name }: ScheduleInput): string {
  return `schedule/${project}/${name}`;
}
