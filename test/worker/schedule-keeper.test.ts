import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { ScheduleAsk, ScheduleRecord, ScheduleTime } from '../../model/schedules/schedule.ts';
import { triggerTimeOf } from '../../model/schedules/schedule-saga.ts';
import type { KnownSchedule, ScheduleEngine } from '../../sagas/schedules.ts';
import { timeKeyOf } from '../../store/schedules/schedule-times.ts';
import { ScheduleKeeper } from '../../worker/schedules/schedule-keeper.ts';
import { scheduleRecord } from '../store/schedule-records.ts';

/** Every time, trigger and filled time is listed once, with what became of it. */
const iso = (ms: number) => new Date(ms).toISOString();
const SECOND = 1_000;
const NOW = Math.floor(Date.now() / SECOND) * SECOND;
const HOUR = 3_600 * SECOND;
const nextAt = iso(NOW + HOUR);
const QUIET: KnownSchedule = {
  askedAt: NOW,
  revision: 1,
  until: '2999-01-01T00:00:00.000Z',
  isPaused: false,
  createdAt: iso(NOW - HOUR),
  nextAt,
  begun: [],
  waiting: 0,
  isRunning: false,
  counted: { missed: 0, dropped: 0 },
};

function ask(id: string, changes: Partial<ScheduleAsk> = {}): ScheduleAsk {
  const at = iso(NOW - 10 * SECOND);
  return { id, kind: 'trigger', at, from: null, to: null, overlap: 'skip', claimedAt: null, sentAt: at, ...changes };
}

/** A store and a Temporal of one schedule. */
class Stage {
  readonly times = new Map<string, ScheduleTime>();
  readonly sent: string[] = [];
  readonly begun = new Map<number, { startedAt: number; status: string }>();
  record: ScheduleRecord;
  known = QUIET;

  constructor(changes: Partial<ScheduleRecord>) {
    const handledUntil = iso(NOW - 5 * SECOND);
    const spec = { cron: null, every: '1d', timeZone: 'UTC', specSince: iso(NOW - HOUR), handledUntil };
    this.record = scheduleRecord({ ...spec, ...changes });
  }

  note(time: ScheduleTime): void {
    this.times.set(timeKeyOf(time), time);
  }

  async look(): Promise<void> {
    const { times } = this;
    const schedules = {
      due: async () => [this.record],
      change: async (_ref: object, changes: Partial<ScheduleRecord>) => Object.assign(this.record, changes),
      claimAsk: async (_ref: object, { id, claimedAt }: ScheduleAsk, at: string) => {
        const found = this.record.asks[id];
        if (!found || found.claimedAt !== claimedAt || found.sentAt) return false;
        found.claimedAt = at;
        return true;
      },
      askSent: async (_ref: object, { id }: ScheduleAsk, sentAt: string) => {
        const found = this.record.asks[id];
        if (found) found.sentAt = sentAt;
      },
      askForgotten: async (_ref: object, { id }: ScheduleAsk) => delete this.record.asks[id],
    };
    const scheduleTimes = {
      known: async (_ref: object, from: string, to: string) =>
        new Map([...times].filter(([, { at }]) => at >= from && at <= to)),
      putMissed: async (missed: ScheduleTime[]) => {
        for (const each of missed) if (!times.has(timeKeyOf(each))) this.note(each);
      },
      put: async (time: ScheduleTime) => this.note(time),
    };
    const engine = {
      describe: async () => this.known,
      ask: async (_ref: object, { id }: ScheduleAsk) => this.sent.push(id),
      workflowOf: async (_ref: object, at: number) => this.begun.get(at) ?? null,
    };
    const store = { schedules, scheduleTimes } as unknown as ConstructorParameters<typeof ScheduleKeeper>[0];
    const logger = pino({ level: 'silent' });
    await new ScheduleKeeper(store, engine as unknown as ScheduleEngine, logger).look();
  }

  get listed() {
    return [...this.times.values()].map(({ at, triggerId, state, reason }) => ({ at, triggerId, state, reason }));
  }
}

describe('a trigger', () => {
  it('has a workflow of its own, whenever it is sent, and is of no time', () => {
    const times = Array.from({ length: 500 }, (_, n) =>
      triggerTimeOf({ id: (n * 7).toString(16).padStart(16, '0') + n }),
    );
    const random = Array.from({ length: 500 }, (_, n) =>
      triggerTimeOf({ id: `${(n * 0x9e3779b9).toString(16)}abcdef` }),
    );
    expect(new Set(random).size).toBe(500);
    for (const at of [...times, ...random]) expect(iso(at)).toMatch(/^[2-9]\d{3}-/);
  });

  it('that was skipped is listed, one that was begun is not, and one that may wait is open', async () => {
    const [skipped, running, waits] = [ask('aa'), ask('bb'), ask('cc', { overlap: 'buffer-all' })];
    const stage = new Stage({ asks: { aa: skipped, bb: running, cc: waits } });
    stage.begun.set(triggerTimeOf(running), { startedAt: NOW - 9 * SECOND, status: 'RUNNING' });
    stage.known = { ...QUIET, waiting: 1, begun: [iso(triggerTimeOf(running))] };
    await stage.look();
    expect(stage.listed).toEqual([{ at: skipped.at, triggerId: 'aa', state: 'missed', reason: 'overlap' }]);
    expect(Object.keys(stage.record.asks)).toEqual(['bb', 'cc']);
    stage.known = { ...QUIET, begun: [] };
    await stage.look();
    expect(stage.listed.map(({ triggerId }) => triggerId)).toEqual(['aa', 'cc']);
  });

  it('that was sent as Temporal was asked stays open, however long ago that is by now', async () => {
    const stage = new Stage({ asks: { ee: ask('ee') } });
    stage.known = { ...QUIET, askedAt: NOW - 9 * SECOND };
    await stage.look();
    expect([Object.keys(stage.record.asks), stage.listed]).toEqual([['ee'], []]);
  });

  it('that is written down is accounted for', async () => {
    const done = ask('dd');
    const stage = new Stage({ asks: { dd: done } });
    const ran = {
      localTime: done.at,
      triggerId: 'dd',
      state: 'ran',
      reason: null,
      detail: null,
      runId: 'run-1',
    } as const;
    stage.note({ project: 'default', schedule: 'nightly', at: done.at, recordedAt: done.at, ...ran });
    await stage.look();
    expect([stage.record.asks, stage.listed.length]).toEqual([{}, 1]);
  });

  it('is sent one after the other where one may wait; the next has no room', async () => {
    const asks = Object.fromEntries(
      ['a', 'b', 'c'].map((id) => [id, ask(id, { overlap: 'buffer-one', sentAt: null })]),
    );
    const stage = new Stage({ asks });
    await stage.look();
    expect(stage.sent).toEqual(['a']);
    stage.known = { ...QUIET, waiting: 1 };
    for (const each of Object.values(stage.record.asks)) if (each.sentAt) each.sentAt = iso(NOW - 2 * SECOND);
    await stage.look();
    expect(stage.listed).toEqual([]); // the first is not begun yet
    stage.known = { ...QUIET, waiting: 1, isRunning: true };
    await stage.look();
    await stage.look();
    expect(stage.sent).toEqual(['a']);
    expect(stage.listed).toMatchObject(
      ['b', 'c'].map((triggerId) => ({ triggerId, state: 'missed', reason: 'overlap' })),
    );
  });
});

it('times that are filled are listed though they were skipped, once', async () => {
  const from = Math.floor((NOW - 4 * HOUR) / HOUR) * HOUR;
  const filled = ask('ee', { kind: 'backfill', from: iso(from), to: iso(from + 3 * HOUR) });
  const stage = new Stage({ every: '1h', asks: { ee: filled }, handledUntil: iso(NOW) });
  stage.begun.set(from, { startedAt: NOW - 9 * SECOND, status: 'RUNNING' });
  await stage.look();
  const overlapped = [1, 2, 3].map((n) => ({
    at: iso(from + n * HOUR),
    triggerId: null,
    state: 'missed',
    reason: 'overlap',
  }));
  expect(stage.listed).toEqual(overlapped);
  expect(stage.record.asks).toHaveProperty('ee');
  const first = { project: 'default', schedule: 'nightly', at: iso(from), localTime: iso(from), triggerId: null };
  stage.note({ ...first, state: 'ran', reason: null, detail: null, runId: 'run-1', recordedAt: iso(NOW) });
  await stage.look();
  expect([stage.record.asks, stage.listed.length]).toEqual([{}, 4]);
});

it('times that were due when a schedule was set anew are accounted for by what it was', async () => {
  const setAt = NOW - 8 * SECOND;
  const old = { ...scheduleRecord({ cron: null, every: '1s', timeZone: 'UTC' }), until: iso(setAt) };
  const stage = new Stage({ past: [old], specSince: iso(setAt), handledUntil: iso(setAt - 3 * SECOND) });
  stage.known = { ...QUIET, begun: [iso(setAt - SECOND)] };
  await stage.look();
  expect(stage.listed.map(({ at }) => at)).toEqual([iso(setAt - 2 * SECOND), iso(setAt)]);
  expect(stage.record.past).toHaveLength(1); // one of its times was begun, and is not written down yet
  const begun = { project: 'default', schedule: 'nightly', at: iso(setAt - SECOND), localTime: iso(setAt - SECOND) };
  const ran = { state: 'ran', reason: null, detail: null, runId: 'run-1', recordedAt: iso(NOW) } as const;
  stage.note({ ...begun, triggerId: null, ...ran });
  await stage.look();
  expect([stage.record.past, stage.listed.length]).toEqual([[], 3]);
});
