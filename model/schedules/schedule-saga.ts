import type { ScheduleRecord } from './schedule.ts';

/** The workflow of one time of a schedule: it lives until nothing of its run is left. */
export const SCHEDULED_WORKFLOW = 'scheduled';
export interface ScheduledInput {
  project: string;
  name: string;
  /** Of the schedule when Temporal was told of it. */
  revision: number;
  /** Changes of clocks until then are known to Temporal. ISO 8601. */
  until: string;
  /** What it follows, when it goes on as another run. */
  runId?: string;
  /** Another time wants its run to end. */
  isOverlapped?: boolean;
}

/** Signal to it, no arguments: nothing of its run is left. */
export const RUN_OVER = 'runOver';

type ScheduleRef = Pick<ScheduleRecord, 'project' | 'name'>;

/** The id of a schedule in Temporal, and how the ids of its workflows begin. */
export function scheduleIdOf({ project, name }: ScheduleRef): string {
  return `schedule/${project}/${name}`;
}

const TIME = /-(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)$/;

/** The time that Temporal writes behind the id of a workflow of a schedule. ISO 8601; null: there is none. */
export function timeOfWorkflow(workflowId: string): string | null {
  const [, time] = TIME.exec(workflowId) ?? [];
  return time === undefined ? null : new Date(time).toISOString();
}
