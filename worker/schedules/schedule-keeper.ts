import type { Logger } from 'pino';
import { LIMITS } from '../../model/limits.ts';
import { meantTime } from '../../model/schedules/clock-changes.ts';
import { lostTimes } from '../../model/schedules/lost-times.ts';
import type { ScheduleRecord, ScheduleTime } from '../../model/schedules/schedule.ts';
import { nextRun, type Occurrence, timesBetween } from '../../model/schedules/times.ts';
import type { KnownSchedule, ScheduleEngine } from '../../sagas/schedules.ts';
import type { Store } from '../../store/connect.ts';
import { timeKeyOf } from '../../store/schedules/schedule-times.ts';

/** How soon what is asked of a schedule is told to Temporal. Milliseconds. */
export const LOOK_AT_SCHEDULES_EVERY_MS = 1_000;
/** Schedules of one look, and how many of them side by side. */
const [AT_ONCE, BESIDE] = [200, 8];
/** What is young may be on its way still. Milliseconds. */
const ON_ITS_WAY_MS = 3_000;
/** After a time it is looked at what became of it, and now and then in any case: Temporal may have lost it. Milliseconds. */
const [AFTER_TIME_MS, ANYWAY_MS, SOON_MS] = [5_000, 300_000, 3_000];
/** Times that are accounted for in one look. */
const MOST_TIMES = 10_000;
/** So old the first time is that Temporal has not looked at, when it leaves that out and says nothing. Milliseconds. */
const LEFT_OUT_MS = 60_000;
const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];
/** So far ahead changes of clocks are known to Temporal. Milliseconds: half a year. */
const AHEAD_MS = 183 * DAY_MS;

/**
 * Has Temporal do what the store says of schedules, and writes down which times had no run, and why. Any number of processes
 * may do so at once.
 */
export class ScheduleKeeper {
  constructor(
    private readonly store: Pick<Store, 'schedules' | 'scheduleTimes'>,
    private readonly engine: ScheduleEngine,
    private readonly logger: Logger,
  ) {}

  async look(): Promise<void> {
    try {
      const due = await this.store.schedules.due(new Date().toISOString(), AT_ONCE);
      await Promise.all(Array.from({ length: BESIDE }, () => this.#each(due)));
    } catch (error) {
      this.logger.warn({ err: error }, 'schedules are looked at again in a second');
    }
  }

  /** Removes what is to be kept no longer of times. */
  async removePast(): Promise<void> {
    try {
      await this.store.scheduleTimes.prune(new Date().toISOString());
    } catch (error) {
      this.logger.warn({ err: error }, 'times of the past stay for another hour');
    }
  }

  async #each(due: ScheduleRecord[]): Promise<void> {
    for (let record = due.shift(); record; record = due.shift()) {
      try {
        await this.#lookAt(record);
      } catch (error) {
        const { project, name } = record;
        this.logger.info({ err: error, project, name }, 'a schedule is looked at again');
        await this.#lookAgain(record, SOON_MS);
      }
    }
  }

  async #lookAt(record: ScheduleRecord): Promise<void> {
    if (record.deletedAt !== null) return this.#remove(record);
    const known = await this.engine.describe(record);
    if (!known) {
      await this.engine.create(record, stillRun(record, Date.now()));
      return this.#lookAgain(record, SOON_MS);
    }
    if (known.revision !== record.revision || known.until < new Date(Date.now() + AHEAD_MS).toISOString()) {
      await this.engine.update(record);
      return this.#lookAgain(record, SOON_MS);
    }
    if (known.isPaused !== (record.pausedAt !== null)) await this.engine.setPaused(record);
    await this.#tellAsks(record);
    await this.#account(record, known);
  }

  async #remove(record: ScheduleRecord): Promise<void> {
    await this.engine.remove(record);
    await this.store.scheduleTimes.removeOf(record);
    await this.store.schedules.remove(record, record);
  }

  /** A trigger that is told twice is run once: activities/function/scheduled.ts. */
  async #tellAsks(record: ScheduleRecord): Promise<void> {
    for (const ask of Object.values(record.asks)) {
      if (!ask.isSent) {
        await this.engine.ask(record, ask);
        await this.store.schedules.askSent(record, ask);
      } else if (Date.parse(ask.at) < Date.now() - HOUR_MS) await this.store.schedules.askForgotten(record, ask);
    }
  }

  /** Writes down which of the times that Temporal has passed had no run. */
  async #account(record: ScheduleRecord, known: KnownSchedule): Promise<void> {
    const now = Date.now();
    const after = Math.max(Date.parse(record.handledUntil), Date.parse(record.specSince));
    const passed = passedTimes(record, known, { after, now });
    const noted = await this.store.scheduleTimes.known(
      record,
      new Date(after).toISOString(),
      new Date(passed.until).toISOString(),
    );
    const begun = new Set(known.begun.map((at) => meantTime(record, Date.parse(at))));
    const open = passed.times.filter(({ at, localTime }) => !noted.has(keyOf({ at, localTime })));
    const { lost, openFrom } = lostTimes(record, { ...known, open, begun, now });
    const removeAfter = new Date(now + LIMITS.functions.schedules.timesDays * DAY_MS).toISOString();
    await this.store.scheduleTimes.putMissed(
      lost.map(({ time, reason }) => missed(record, time, reason)),
      removeAfter,
    );
    const handled = Math.max(after, openFrom === null ? passed.until : Math.min(openFrom - 1, passed.until));
    const changes = {
      handledUntil: new Date(handled).toISOString(),
      counted: known.counted,
      pauses: record.pauses.filter(({ to }) => Date.parse(to) > handled),
      lookAt: this.#nextLook(record, { now, isOpen: openFrom !== null || passed.isMore }),
    };
    // who was asked for something meanwhile has it looked at again at once
    const { handledUntil, updatedAt, lookAt } = record;
    await this.store.schedules.change(record, changes, { handledUntil, updatedAt, lookAt });
  }

  #nextLook(record: ScheduleRecord, { now, isOpen }: { now: number; isOpen: boolean }): string {
    const next = nextRun(record, now)?.at ?? Infinity;
    const anyway = now + (isOpen ? SOON_MS : ANYWAY_MS);
    return new Date(Math.min(anyway, next + record.jitterSeconds * 1_000 + AFTER_TIME_MS)).toISOString();
  }

  async #lookAgain(record: ScheduleRecord, ms: number): Promise<void> {
    const lookAt = new Date(Date.now() + ms).toISOString();
    await this.store.schedules.change(record, { lookAt }, { lookAt: record.lookAt });
  }
}

/** Of what has passed while Temporal knew of no schedule, what would have been run by what it says of overlaps. */
function stillRun(record: ScheduleRecord, now: number): { from: number; to: number } | null {
  const oldest = Math.max(
    Date.parse(record.handledUntil),
    Date.parse(record.specSince) - 1,
    now - record.catchupWindowSeconds * 1_000,
  );
  const times: number[] = [];
  for (const { at, isRun } of timesBetween(record, oldest, now)) {
    if (isRun) times.push(at);
    if (times.length === MOST_TIMES) break;
  }
  const [first, second = first] = times;
  const last = times.at(-1);
  if (record.pausedAt !== null || first === undefined || second === undefined || last === undefined) return null;
  if (record.overlap === 'cancel-other') return { from: last, to: last };
  if (record.overlap === 'skip') return { from: first, to: first };
  return { from: first, to: record.overlap === 'buffer-one' ? second : last };
}

/** Those that Temporal has passed for good, up to so many. */
function passedTimes(record: ScheduleRecord, known: KnownSchedule, { after, now }: { after: number; now: number }) {
  const quiet = now - ON_ITS_WAY_MS - record.jitterSeconds * 1_000;
  const next = known.nextAt === null || record.pausedAt !== null ? Infinity : Date.parse(known.nextAt);
  const until = Math.max(after, next > now - LEFT_OUT_MS ? Math.min(quiet, next - 1) : quiet);
  const times: Occurrence[] = [];
  for (const time of timesBetween(record, after, until)) {
    if (times.length === MOST_TIMES) return { times, until: (times.at(-1)?.at ?? after) - 1, isMore: true };
    times.push(time);
  }
  return { times, until, isMore: false };
}

function keyOf({ at, localTime }: Pick<Occurrence, 'at' | 'localTime'>): string {
  return timeKeyOf({ at: new Date(at).toISOString(), localTime });
}

function missed(
  { project, name }: ScheduleRecord,
  { at, localTime }: Occurrence,
  reason: ScheduleTime['reason'],
): ScheduleTime {
  const time = { project, schedule: name, at: new Date(at).toISOString(), localTime };
  return { ...time, state: 'missed', reason, detail: null, runId: null, recordedAt: new Date().toISOString() };
}
