import { z } from 'zod';
import { actor, displayText, encryptedField, instant, optional } from '../fields.ts';

/** Policy for a time at which the previous run has not ended, or is not cleaned up. */
export const overlap = z.enum(['skip', 'buffer-one', 'buffer-all', 'cancel-other', 'allow-all']);
export type Overlap = z.infer<typeof overlap>;

export const dst = z.object({
  gap: z.enum(['skip', 'run-after']).describe('A time that the clocks leave out: none, or right after'),
  repeat: z.enum(['first', 'both']).describe('A time that the clocks have twice'),
});

export const scheduleSpec = z.object({
  function: z.string(),
  cron: z.string().nullable(),
  every: z.string().nullable().describe('Such as `15m`, counted from 1970 in UTC'),
  timeZone: z.string(),
  overlap,
  catchupWindowSeconds: z.int().describe('So late a time is run still, when Temporal or the control worker was away'),
  jitterSeconds: z.int().describe('Up to so much later a time is run, the same each time for the same time'),
  startAt: instant.nullable().describe('Inclusive; null: no bound'),
  endAt: instant.nullable(),
  pauseOnFailure: z
    .boolean()
    .describe('It is paused when a run of it ends otherwise than succeeded, cancelled or skipped'),
  dst,
  event: encryptedField(
    z.object({
      type: z.string(),
      subject: z.string().nullable(),
      data: optional(z.string()).describe('JSON text, as it was sent; absent: it has no data'),
    }),
  ),
});
/** Specification of a schedule. Exactly one of `cron` and `every` is set. */
export type ScheduleSpec = z.infer<typeof scheduleSpec>;

const scheduleRequest = z.object({
  id: z.string(),
  kind: z.enum(['trigger', 'backfill']),
  at: instant,
  from: instant.nullable().describe('Of a backfill, inclusive'),
  to: instant.nullable(),
  overlap,
});
/** Request for additional runs: one now, or those of a range of past times. */
export type ScheduleRequest = z.infer<typeof scheduleRequest>;

const dueTime = z.object({
  at: instant,
  localTime: z.string(),
  triggerId: z.string().nullable().describe('Null: it is a time of the schedule'),
  isFilled: z.boolean().describe('Whether a backfill asked for it'),
  overlap,
});
/** Time, trigger or backfilled time that waits for its run. */
export type DueTime = z.infer<typeof dueTime>;

const activeRun = z.object({ runId: z.string(), overlap });

const pastSpec = scheduleSpec.extend({ until: instant.describe('Inclusive') });
/** Previous specification of a changed schedule, valid for times up to `until` until all are decided. */
export type PastSpec = z.infer<typeof pastSpec>;

export const scheduleRecord = z.object({
  project: z.string(),
  name: z.string(),
  ...scheduleSpec.shape,
  version: z.int().describe('Counts the changes of the record'),
  past: encryptedField(z.array(pastSpec)).describe('The oldest first'),
  pausedAt: instant.nullable().describe('Null: it is not paused'),
  pauseReason: z.string().nullable(),
  pauses: z
    .array(z.object({ from: instant, to: instant }))
    .describe('Those that are over, of which times may not be decided yet'),
  handledUntil: instant.describe('Until then all times are decided: queued, or missed'),
  wakeAt: instant.nullable().describe('When its workflow is to be woken; null: it sleeps until its next time'),
  asks: z
    .record(z.string(), scheduleRequest)
    .describe('Triggers and backfills by their ids, until their times are decided'),
  queue: z.array(dueTime).describe('The next first'),
  active: z.array(activeRun).describe('Those that others may have to wait for'),
  deletedAt: instant.nullable(),
  createdBy: actor,
  createdAt: instant,
  updatedAt: instant,
});
export type ScheduleRecord = z.infer<typeof scheduleRecord>;

/** Outcome of one time. */
export const scheduleTime = z.object({
  project: z.string(),
  schedule: z.string(),
  at: instant,
  localTime: z.string().describe('In the zone, without an offset; of `every` the same as `at`'),
  triggerId: z.string().nullable().describe('Trigger that it is of; null: a time of the schedule'),
  state: z.enum(['ran', 'missed']),
  reason: z
    .enum(['overlap', 'catch-up', 'buffer', 'gap', 'repeat', 'paused', 'refused'])
    .nullable()
    .describe('Why it was not run; `refused`: its event was, `detail` says why'),
  detail: displayText().nullable(),
  runId: z.string().nullable(),
  recordedAt: instant,
});
export type ScheduleTime = z.infer<typeof scheduleTime>;
export type MissedReason = NonNullable<ScheduleTime['reason']>;

/** Returns the specification valid at a time. @param at ms since 1970 */
export function getSpecAsOf(record: ScheduleRecord, at: number): ScheduleSpec {
  return record.past.find(({ until }) => at <= Date.parse(until)) ?? record;
}

/** Schedule of a run, as stored in its record. */
export interface ScheduledFor {
  name: string;
  /** Nominal time; for a trigger, the time of its request. ISO 8601. */
  nominalAt: string;
}

const UNITS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
const EVERY = /^([1-9]\d{0,6})([smhd])$/;
export const EVERY_PATTERN = EVERY.source;

/** Null: invalid. */
export function parseInterval(text: string): number | null {
  const [, count, unit] = EVERY.exec(text) ?? [];
  return count === undefined ? null : Number(count) * UNITS[unit as keyof typeof UNITS];
}

/** Returns the `source` of its events. */
export function getEventSource({ project, name }: Pick<ScheduleRecord, 'project' | 'name'>): string {
  return `/projects/${project}/schedules/${name}`;
}
