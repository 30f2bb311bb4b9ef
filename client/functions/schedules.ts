import type { Actor } from '../../model/sandbox/sandbox.ts';
import type {
  MissedReason,
  Overlap,
  ScheduleSpec,
  ScheduleTime as TimeRecord,
} from '../../model/schedules/schedule.ts';
import type { List } from '../http/options.ts';
import type { CallOptions, PostOptions, Transport } from '../http/transport.ts';

/** When a function is run, and what for: one of `cron` and `every`. */
export interface SetSchedule {
  function: string;
  /** Minute, hour, day of month, month, day of week, as crontab(5) has them; or `@hourly` and its like. */
  cron?: string;
  /** Such as `15m`: a number of s, m, h or d, counted from 1970 in UTC. */
  every?: string;
  /** A name of IANA's. `@default` UTC */
  timeZone?: string;
  /** What becomes of a time when the run of one before is not over. `@default` skip */
  overlap?: Overlap;
  /** So late a time is run still when Temporal was away. Seconds. `@default` 3600 */
  catchupWindowSeconds?: number;
  /** Up to so much later it is run, always the same for a time. Seconds. `@default` 0 */
  jitterSeconds?: number;
  /** ISO 8601, inclusive. `@default` no bound */
  startAt?: string;
  endAt?: string;
  /** It is paused when a run of it fails. `@default` false */
  pauseOnFailure?: boolean;
  /** When the clocks change. `@default` skip a gap, the first of a repeat */
  dst?: Partial<ScheduleSpec['dst']>;
  /** 64 KiB of data at most. `@default` of the type `mayfly.schedule.fired`, without data */
  event?: { type?: string; subject?: string; data?: unknown };
}

/** A schedule as the API shows it. Times are ISO 8601. */
export interface Schedule extends Omit<ScheduleSpec, 'event'> {
  event: { type: string; subject: string | null; data?: unknown };
  project: string;
  name: string;
  /** Null: it is paused, or there is none any more. */
  nextAt: string | null;
  pausedAt: string | null;
  pauseReason: string | null;
  createdBy: Actor;
  createdAt: string;
  updatedAt: string;
}

export interface NextTime {
  at: string;
  /** As the clocks of its zone show it, or would. */
  localTime: string;
  /** `gap`: the clocks leave it out, `at` is right after. `repeat`: they have it for the second time. */
  dst: 'gap' | 'repeat' | null;
  isRun: boolean;
}

/** What became of a time: a run, or why there is none. */
export type ScheduleTime = Omit<TimeRecord, 'project' | 'schedule'>;
export type { MissedReason };

const ALL = '/v1/schedules';

/** Times at which functions run. Throws as {@link MayflyClient} does. */
export class Schedules {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Makes one, or sets all of the one of that name. */
  set(name: string, wish: SetSchedule, options: CallOptions = {}): Promise<Schedule> {
    return this.#transport.json({ method: 'PUT', path: pathOf(name), body: wish }, options);
  }

  /** By name. @param options `function`: only those of it */
  list({ function: of, ...options }: CallOptions & { function?: string } = {}): Promise<List<Schedule>> {
    const query = of === undefined ? {} : { function: of };
    return this.#transport.json({ method: 'GET', path: ALL, query }, options);
  }

  get(name: string, options: CallOptions = {}): Promise<Schedule> {
    return this.#transport.json({ method: 'GET', path: pathOf(name) }, options);
  }

  /** What it has begun goes on. */
  async delete(name: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.json<undefined>({ method: 'DELETE', path: pathOf(name) }, options);
  }

  pause(name: string, options: PostOptions = {}): Promise<Schedule> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(name)}/pause` }, options);
  }

  resume(name: string, options: PostOptions = {}): Promise<Schedule> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(name)}/resume` }, options);
  }

  /** Has it fire now. @param wish `overlap`: `@default` the schedule's */
  trigger(
    name: string,
    wish: { overlap?: Overlap } = {},
    options: PostOptions = {},
  ): Promise<{ id: string; at: string }> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(name)}/trigger`, body: wish }, options);
  }

  /** Has times of the past run that were not, at most 500. @param range ISO 8601, inclusive */
  backfill(
    name: string,
    range: { from: string; to: string; overlap?: Overlap },
    options: PostOptions = {},
  ): Promise<{ id: string; at: string }> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(name)}/backfill`, body: range }, options);
  }

  /** @param options `count`: 1 to 100, `@default` 10 */
  next(name: string, { count, ...options }: CallOptions & { count?: number } = {}): Promise<{ items: NextTime[] }> {
    const query = count === undefined ? {} : { count: String(count) };
    return this.#transport.json({ method: 'GET', path: `${pathOf(name)}/next`, query }, options);
  }

  /** What became of its times, the newest first. */
  times(
    name: string,
    {
      state,
      limit,
      cursor,
      ...options
    }: CallOptions & { state?: 'ran' | 'missed'; limit?: number; cursor?: string } = {},
  ): Promise<{ items: ScheduleTime[]; nextCursor: string | null }> {
    const query = {
      ...(state !== undefined && { state }),
      ...(limit !== undefined && { limit: String(limit) }),
      ...(cursor !== undefined && { cursor }),
    };
    return this.#transport.json({ method: 'GET', path: `${pathOf(name)}/times`, query }, options);
  }
}

function pathOf(name: string): string {
  return `${ALL}/${encodeURIComponent(name)}`;
}
