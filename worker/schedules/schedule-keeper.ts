import type { Logger } from 'pino';
import { meantTime } from '../../model/schedules/clock-changes.ts';
import { lostTimes } from '../../model/schedules/lost-times.ts';
import type { ScheduleRecord } from '../../model/schedules/schedule.ts';
import { nextRun, type Occurrence, timesBetween } from '../../model/schedules/times.ts';
import type { KnownSchedule, ScheduleEngine } from '../../sagas/schedules.ts';
import type { Store } from '../../store/connect.ts';
import { timeKeyOf } from '../../store/schedules/schedule-times.ts';
import { AskKeeper, ON_ITS_WAY_MS, type OpenAsks } from './ask-keeper.ts';
import { keptUntil, missedTime } from './missed-time.ts';

/** How soon what is asked of a schedule is told to Temporal. Milliseconds. */
export const LOOK_AT_SCHEDULES_EVERY_MS = 1_000;
/** Schedules of one look, and how many of them side by side. */
const [AT_ONCE, BESIDE] = [200, 8];
/** After a time it is looked at what became of it, and now and then in any case: Temporal may have lost it. Milliseconds. */
const [AFTER_TIME_MS, ANYWAY_MS, SOON_MS] = [5_000, 300_000, 3_000];
/** Times that are accounted for in one look. */
const MOST_TIMES = 10_000;
/** So old the first time is that Temporal has not looked at, when it leaves that out and says nothing. Milliseconds. */
const LEFT_OUT_MS = 60_000;
const DAY_MS = 86_400_000;
/** So far ahead changes of clocks are known to Temporal. Milliseconds: half a year. */
const AHEAD_MS = 183 * DAY_MS;

/** Of the times of a schedule, milliseconds since 1970: after `after`, until `until`. */
interface Range {
  after: number;
  until: number;
  now: number;
}

/**
 * Has Temporal do what the store says of schedules, and writes down which times had no run, and why. Any number of processes
 * may do so at once.
 */
export class ScheduleKeeper {
  readonly #asks: AskKeeper;

  constructor(
    private readonly store: Pick<Store, 'schedules' | 'scheduleTimes'>,
    private readonly engine: ScheduleEngine,
    private readonly logger: Logger,
  ) {
    this.#asks = new AskKeeper(store, engine);
  }

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
      const passed = known.revision === record.revision ? null : passedSinceSet(record, Date.now());
      if (passed) {
        const { overlap, revision } = record;
        await this.engine.backfill(record, { ...passed, overlap }, `set-${revision}`);
      }
      return this.#lookAgain(record, SOON_MS);
    }
    if (known.isPaused !== (record.pausedAt !== null)) await this.engine.setPaused(record);
    await this.#account(record, known, await this.#asks.look(record, known));
  }

  async #remove(record: ScheduleRecord): Promise<void> {
    await this.engine.remove(record);
    await this.store.scheduleTimes.removeOf(record);
    await this.store.schedules.remove(record, record);
  }

  /** Writes down which of the times that Temporal has passed had no run. */
  async #account(record: ScheduleRecord, known: KnownSchedule, asks: OpenAsks): Promise<void> {
    const now = known.askedAt;
    let after = Date.parse(record.handledUntil);
    let waiting = Math.max(0, known.waiting - asks.waiting);
    let openAt: number | null = null;
    for (const past of [...record.past, null]) {
      const spec = { ...record, ...past };
      if (past === null) after = Math.max(after, Date.parse(record.specSince));
      const until = past === null ? Infinity : Date.parse(past.until);
      const found = await this.#accountPart(spec, { ...known, waiting }, { after, until, now });
      waiting -= found.waiting;
      if (found.isOpen) openAt ??= found.handled;
      after = Math.max(after, past === null ? found.handled : until);
    }
    const handled = openAt ?? after;
    const changes = {
      handledUntil: new Date(handled).toISOString(),
      counted: known.counted,
      past: record.past.filter(({ until }) => Date.parse(until) > handled),
      pauses: record.pauses.filter(({ to }) => Date.parse(to) > handled),
      lookAt: this.#nextLook(record, { now: Date.now(), isOpen: openAt !== null || asks.isOpen }),
    };
    // who was asked for something meanwhile has it looked at again at once
    const { handledUntil, updatedAt, lookAt } = record;
    await this.store.schedules.change(record, changes, { handledUntil, updatedAt, lookAt });
  }

  /** Times of one setting of a schedule. @returns `handled`: until then all are accounted for, milliseconds since 1970 */
  async #accountPart(spec: ScheduleRecord, known: KnownSchedule, range: Range) {
    const passed = passedTimes(spec, known, range);
    const from = new Date(range.after).toISOString();
    const noted = await this.store.scheduleTimes.known(spec, from, new Date(passed.until).toISOString());
    const begun = new Set(known.begun.map((at) => meantTime(spec, Date.parse(at))));
    const open = passed.times.filter((time) => !noted.has(keyOf(time)));
    const { lost, openFrom, waiting } = lostTimes(spec, { ...known, open, begun, now: range.now });
    await this.store.scheduleTimes.putMissed(
      lost.map(({ time, reason }) =>
        missedTime(spec, { ...time, triggerId: null }, { reason, detail: null }, range.now),
      ),
      keptUntil(range.now),
    );
    const handled = openFrom === null ? passed.until : Math.min(openFrom - 1, passed.until);
    const isPast = range.until !== Infinity;
    const isOpen = openFrom !== null || passed.isMore || (isPast && passed.until < range.until);
    return { handled: Math.max(range.after, handled), isOpen, waiting };
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

/** Times that came since a schedule was set, and before Temporal was told. Milliseconds since 1970. */
function passedSinceSet(record: ScheduleRecord, now: number): { from: number; to: number } | null {
  return stillRun({ ...record, handledUntil: record.specSince }, now);
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
function passedTimes(record: ScheduleRecord, known: KnownSchedule, { after, until: end, now }: Range) {
  const quiet = now - ON_ITS_WAY_MS - record.jitterSeconds * 1_000;
  const isPast = end !== Infinity; // what was set since, Temporal knows: it fires none of these any more
  const next = isPast || known.nextAt === null || record.pausedAt !== null ? Infinity : Date.parse(known.nextAt);
  const until = Math.max(after, Math.min(end, next > now - LEFT_OUT_MS ? Math.min(quiet, next - 1) : quiet));
  const times: Occurrence[] = [];
  for (const time of timesBetween(record, after, until)) {
    if (times.length === MOST_TIMES) return { times, until: (times.at(-1)?.at ?? after) - 1, isMore: true };
    times.push(time);
  }
  return { times, until, isMore: false };
}

function keyOf({ at, localTime }: Occurrence): string {
  return timeKeyOf({ at: new Date(at).toISOString(), localTime, triggerId: null });
}
