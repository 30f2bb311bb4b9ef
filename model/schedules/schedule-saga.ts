import type { ScheduleAsk, ScheduleRecord } from './schedule.ts';

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

/** Behind the last time that a schedule has, so that no trigger is taken for a time, or for another trigger. */
const TRIGGERS_FROM = Date.UTC(2200, 0, 1);
const SECONDS_OF_TRIGGERS = 200_000_000_000;

/** Instant by which Temporal names the workflow of a trigger. Milliseconds since 1970. */
export function triggerTimeOf({ id }: Pick<ScheduleAsk, 'id'>): number {
  return TRIGGERS_FROM + (Number.parseInt(id.slice(0, 12), 16) % SECONDS_OF_TRIGGERS) * 1_000;
}

export function isTriggerTime(at: number): boolean {
  return at >= TRIGGERS_FROM;
}

/** Id of the workflow of a time, or of a trigger. @param at milliseconds since 1970 */
export function workflowIdAt(ref: ScheduleRef, at: number): string {
  return `${scheduleIdOf(ref)}-${new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')}`;
}

const TIME = /-(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)$/;

/** The time that Temporal writes behind the id of a workflow of a schedule. ISO 8601; null: there is none. */
export function timeOfWorkflow(workflowId: string): string | null {
  const [, time] = TIME.exec(workflowId) ?? [];
  return time === undefined ? null : new Date(time).toISOString();
}
