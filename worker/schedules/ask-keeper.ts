import type { MissedReason, ScheduleAsk, ScheduleRecord } from '../../model/schedules/schedule.ts';
import { isTriggerTime, triggerTimeOf } from '../../model/schedules/schedule-saga.ts';
import { timesBetween } from '../../model/schedules/times.ts';
import type { KnownSchedule, ScheduleEngine } from '../../sagas/schedules.ts';
import type { Store } from '../../store/connect.ts';
import { timeKeyOf } from '../../store/schedules/schedule-times.ts';
import { keptUntil, missedTime } from './missed-time.ts';

/** What is young may be on its way still. Milliseconds. */
export const ON_ITS_WAY_MS = 3_000;
/** Clocks of Temporal and of this process may differ by that. Milliseconds. */
const CLOCKS_DIFFER_MS = 1_000;
/** So long another process has to give Temporal what it has claimed. Milliseconds. */
const CLAIMED_MS = 30_000;

/** What was asked of a schedule and is not accounted for. */
export interface OpenAsks {
  isOpen: boolean;
  /** Times and triggers that may wait in Temporal's buffer. */
  waiting: number;
}

/** A trigger, or a time that is filled. Milliseconds since 1970. */
interface AskedTime {
  at: number;
  localTime: string;
  triggerId: string | null;
  /** By which Temporal names its workflow. */
  firedAt: number;
}
type Fate = 'begun' | 'waits' | { reason: MissedReason; detail: string | null };
type Sent = ScheduleAsk & { sentAt: string };

/** Gives Temporal triggers and backfills, and writes down which of their times had no run: Temporal drops them and says nothing. */
export class AskKeeper {
  constructor(
    private readonly store: Pick<Store, 'schedules' | 'scheduleTimes'>,
    private readonly engine: ScheduleEngine,
  ) {}

  /** @param known since before this is called */
  async look(record: ScheduleRecord, known: KnownSchedule): Promise<OpenAsks> {
    const open: OpenAsks = { isOpen: false, waiting: 0 };
    const asks = Object.values(record.asks).sort((a, b) => (a.at < b.at ? -1 : 1));
    for (const ask of asks.filter(isSent)) await this.#settle(record, ask, known, open);
    const unsent = asks.filter((ask) => !isSent(ask));
    if (unsent.length > 0) open.isOpen = true;
    for (const ask of unsent) {
      // what Temporal knows of one that may wait says what becomes of the next
      if (!(await this.#send(record, ask, known)) || ask.overlap === 'buffer-one') break;
    }
    return open;
  }

  /** @returns false: it is sent when Temporal has come to what was sent before */
  async #send(record: ScheduleRecord, ask: ScheduleAsk, known: KnownSchedule): Promise<boolean> {
    const now = Date.now();
    const mayBeDropped = ask.kind === 'trigger' && ask.overlap === 'buffer-one';
    if (now - Date.parse(ask.claimedAt ?? '') < CLAIMED_MS || (mayBeDropped && isBehind(record, known))) return false;
    // Where another process has it sent meanwhile, what is known here is of before.
    if (!(await this.store.schedules.claimAsk(record, ask, new Date(now).toISOString()))) return false;
    if (mayBeDropped && known.waiting > 0) {
      for (const time of timesOf(record, ask)) await this.#missed(record, time, { reason: 'overlap', detail: null });
      await this.store.schedules.askForgotten(record, ask);
      return true;
    }
    await this.engine.ask(record, ask);
    await this.store.schedules.askSent(record, ask, new Date(now).toISOString());
    return true;
  }

  async #settle(record: ScheduleRecord, ask: Sent, known: KnownSchedule, open: OpenAsks): Promise<void> {
    const times = timesOf(record, ask);
    const [first, last] = [times[0], times.at(-1)];
    let isOpen = known.askedAt - Date.parse(ask.sentAt) < ON_ITS_WAY_MS;
    if (first && last && !isOpen) {
      const [from, to] = [new Date(first.at).toISOString(), new Date(last.at).toISOString()];
      const noted = await this.store.scheduleTimes.known(record, from, to);
      for (const time of times) {
        const found = noted.get(timeKeyOf({ ...time, at: new Date(time.at).toISOString() }));
        if (found && (found.state === 'ran' || found.recordedAt >= ask.sentAt)) continue;
        const fate = await this.#fateOf(record, ask, time, known);
        if (typeof fate === 'object') await this.#missed(record, time, fate);
        else isOpen = true;
        if (fate === 'waits') open.waiting += 1;
      }
    }
    if (isOpen) open.isOpen = true;
    else await this.store.schedules.askForgotten(record, ask);
  }

  async #fateOf(record: ScheduleRecord, ask: Sent, { firedAt }: AskedTime, known: KnownSchedule): Promise<Fate> {
    if (isBegun(firedAt, known) && isTriggerTime(firedAt)) return 'begun';
    if (mayWait(record, ask, known)) return 'waits';
    const found = await this.engine.workflowOf(record, firedAt);
    if (found && found.startedAt >= Date.parse(ask.sentAt) - CLOCKS_DIFFER_MS) {
      const isLost = ['TERMINATED', 'FAILED', 'TIMED_OUT', 'CANCELLED'].includes(found.status);
      return isLost ? { reason: 'refused', detail: `its workflow is ${found.status}` } : 'begun';
    }
    const isFull = known.counted.dropped > record.counted.dropped;
    return { reason: isFull ? 'buffer' : 'overlap', detail: null };
  }

  async #missed(record: ScheduleRecord, time: AskedTime, why: Exclude<Fate, string>): Promise<void> {
    const now = Date.now();
    await this.store.scheduleTimes.put(missedTime(record, time, why, now), keptUntil(now));
  }
}

function isSent(ask: ScheduleAsk): ask is Sent {
  return ask.sentAt !== null;
}

/** Whether Temporal is about to look at what was sent before, or to begin it: of two that come together it drops one. */
function isBehind({ asks }: ScheduleRecord, known: KnownSchedule): boolean {
  if (known.waiting > 0) return !known.isRunning;
  return Object.values(asks).some(
    (ask) => ask.kind === 'trigger' && isSent(ask) && !isBegun(triggerTimeOf(ask), known),
  );
}

function isBegun(firedAt: number, { begun }: KnownSchedule): boolean {
  return begun.some((at) => Date.parse(at) === firedAt);
}

function timesOf(record: ScheduleRecord, ask: ScheduleAsk): AskedTime[] {
  if (ask.kind === 'trigger') {
    return [{ at: Date.parse(ask.at), localTime: ask.at, triggerId: ask.id, firedAt: triggerTimeOf(ask) }];
  }
  const times = timesBetween(record, Date.parse(ask.from ?? '') - 1, Date.parse(ask.to ?? ''));
  const wanted = [...times].filter(({ isRun }) => isRun);
  return wanted.map(({ at, localTime }) => ({ at, localTime, triggerId: null, firedAt: at }));
}

/** Temporal's buffer is a queue: nothing waits in it that came before what has been begun. */
function mayWait(record: ScheduleRecord, ask: Sent, { waiting, begun }: KnownSchedule): boolean {
  if (waiting === 0 || ask.overlap === 'skip' || ask.overlap === 'allow-all') return false;
  const later = Object.values(record.asks)
    .filter((each) => isSent(each) && each.sentAt > ask.sentAt && each.overlap !== 'allow-all')
    .map(triggerTimeOf);
  return !begun.some((text) => {
    const at = Date.parse(text);
    if (isTriggerTime(at)) return later.includes(at);
    return record.overlap !== 'allow-all' && at > Date.parse(ask.sentAt) + CLOCKS_DIFFER_MS;
  });
}
