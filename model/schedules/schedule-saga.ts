import type { ScheduleRecord } from './schedule.ts';

/** Workflow of one schedule; lives as long as the schedule. */
export const SCHEDULE_WORKFLOW = 'schedule';
export type ScheduleInput = Pick<ScheduleRecord, 'project' | 'name'>;

/** Signal without arguments: its record was changed, or a run of it is cleaned up. */
export const WAKE_SCHEDULE = 'wakeSchedule';

export function scheduleWorkflowId({ project, name }: ScheduleInput): string {
  return `schedule/${project}/${name}`;
}
