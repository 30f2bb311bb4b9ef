import type { Actor } from '../sandbox/sandbox.ts';

/** What becomes of a time at which the run of one before has not ended, or something of it is left. */
export const OVERLAPS = ['skip', 'buffer-one', 'buffer-all', 'cancel-other', 'allow-all'] as const;
export type Overlap = (typeof OVERLAPS)[number];

/** A time that the clocks of the zone leave out: it is left out too, or is right after the gap. */
export const GAPS = ['skip', 'run-after'] as const;
/** A time that the clocks of the zone have twice. */
export const REPEATS = ['first', 'both'] as const;

/** Why a time had no run; `refused`: its event was, `detail` says why. */
export const MISSED_REASONS = ['overlap', 'catch-up', 'buffer', 'gap', 'repeat', 'paused', 'refused'] as const;
export type MissedReason = (typeof MISSED_REASONS)[number];

/** When, and what for. One of `cron` and `every` is set. */
export interface ScheduleSpec {
  function: string;
  cron: string | null;
  /** Such as `15m`, counted from 1970 in UTC. */
  every: string | null;
  timeZone: string;
  overlap: Overlap;
  /** So late a time is run still, when Temporal or the control worker was away. */
  catchupWindowSeconds: number;
  /** Up to so much later a time is run, the same each time for the same time. */
  jitterSeconds: number;
  /** ISO 8601, inclusive; null: no bound. */
  startAt: string | null;
  endAt: string | null;
  /** It is paused when a run of it ends otherwise than succeeded, cancelled or skipped. */
  pauseOnFailure: boolean;
  dst: { gap: (typeof GAPS)[number]; repeat: (typeof REPEATS)[number] };
  /** `data`: JSON text, as it was sent; none: it has no data. */
  event: { type: string; subject: string | null; data?: string };
}

/** What somebody wants run beside the times: now, or the times of a range again. */
export interface ScheduleAsk {
  id: string;
  kind: 'trigger' | 'backfill';
  at: string;
  /** Of a backfill, inclusive. */
  from: string | null;
  to: string | null;
  overlap: Overlap;
}

/** A time, a trigger or a filled time that waits for its run. */
export interface DueTime {
  /** ISO 8601. */
  at: string;
  localTime: string;
  /** Null: it is a time of the schedule. */
  triggerId: string | null;
  /** Whether a backfill asked for it. */
  isFilled: boolean;
  overlap: Overlap;
}

/** A run of a schedule of which something is left. */
export interface ActiveRun {
  runId: string;
  overlap: Overlap;
}

/** A schedule before it was set anew: the times until then are of this, until all have their runs or are missed. */
export interface PastSpec extends ScheduleSpec {
  /** ISO 8601, inclusive. */
  until: string;
}

export interface ScheduleRecord extends ScheduleSpec {
  project: string;
  name: string;
  /** Counts the changes of the record. */
  version: number;
  /** The oldest first. */
  past: PastSpec[];
  /** ISO 8601; null: it is not paused. */
  pausedAt: string | null;
  pauseReason: string | null;
  /** Those that are over, of which times may not be decided yet. */
  pauses: { from: string; to: string }[];
  /** Until then all times are decided: queued, or missed. ISO 8601. */
  handledUntil: string;
  /** When its workflow is to be woken. ISO 8601; null: it sleeps until its next time. */
  wakeAt: string | null;
  /** Triggers and backfills by their ids, until their times are decided. */
  asks: Record<string, ScheduleAsk>;
  /** The next first. */
  queue: DueTime[];
  /** Those that others may have to wait for. */
  active: ActiveRun[];
  deletedAt: string | null;
  createdBy: Actor;
  createdAt: string;
  updatedAt: string;
}

/** What became of one time. */
export interface ScheduleTime {
  project: string;
  schedule: string;
  /** ISO 8601. */
  at: string;
  /** In the zone, without an offset; of `every` the same as `at`. */
  localTime: string;
  /** Trigger that had it run; null: it is a time of the schedule. */
  triggerId: string | null;
  state: 'ran' | 'missed';
  reason: MissedReason | null;
  detail: string | null;
  runId: string | null;
  recordedAt: string;
}

/** What held of a schedule at an instant. @param at milliseconds since 1970 */
export function specAt(record: ScheduleRecord, at: number): ScheduleSpec {
  return record.past.find(({ until }) => at <= Date.parse(until)) ?? record;
}

/** Why there is a run: as its record has it. */
export interface ScheduledFor {
  name: string;
  /** The time of the schedule; of a trigger when it was asked for. ISO 8601. */
  nominalAt: string;
}

const UNITS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
const EVERY = /^([1-9]\d{0,6})([smhd])$/;
export const EVERY_PATTERN = EVERY.source;

/** Null: it is not written like that. */
export function everySeconds(text: string): number | null {
  const [, count, unit] = EVERY.exec(text) ?? [];
  return count === undefined ? null : Number(count) * UNITS[unit as keyof typeof UNITS];
}

/** The source of its events. */
export function scheduleSourceOf({ project, name }: Pick<ScheduleRecord, 'project' | 'name'>): string {
  return `/projects/${project}/schedules/${name}`;
}
