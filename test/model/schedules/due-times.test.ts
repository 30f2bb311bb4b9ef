import { describe, expect, it } from 'vitest';
import { decideDue, getJitterMs } from '../../../model/schedules/due-times.ts';
import { type DueTime, type Overlap, overlap, type ScheduleRecord } from '../../../model/schedules/schedule.ts';
import { scheduleRecord } from '../../store/schedule-records.ts';

/** Guards: queued and missed times, and the reasons. */
const [SECOND, MINUTE] = [1_000, 60_000];
const NOON = Date.parse('2026-06-01T12:00:00Z');
const iso = (at: number) => new Date(at).toISOString();
/** Returns a schedule of every minute, handled until noon. */
function minutely(changes: Partial<ScheduleRecord> = {}): ScheduleRecord {
  return scheduleRecord({ cron: null, every: '1m', timeZone: 'UTC', handledUntil: iso(NOON), ...changes });
}
const serialRun = { runId: 'run-1', overlap: 'skip' } as const;
const minute = (n: number) => iso(NOON + n * MINUTE);
function waiting(n: number, overlap: Overlap, more: Partial<DueTime> = {}): DueTime {
  return { at: minute(n), localTime: minute(n), triggerId: null, isFilled: false, overlap, ...more };
}
function decided(record: ScheduleRecord, now: number) {
  const { changes, missed, nextAt } = decideDue(record, now);
  const [queue, reasons] = [changes.queue.map(({ at }) => at), missed.map(({ at, reason }) => `${at} ${reason}`)];
  return { changes, missed, queue, reasons, nextAt };
}

describe('times during a run with overlap', () => {
  const cases: [Overlap, string[], string[]][] = [
    ['skip', [], ['1 overlap', '2 overlap', '3 overlap']],
    ['buffer-one', ['1'], ['2 overlap', '3 overlap']],
    ['buffer-all', ['1', '2', '3'], []],
    ['cancel-other', ['3'], ['1 overlap', '2 overlap']],
    ['allow-all', ['1', '2', '3'], []],
  ];
  it.each(cases)('%s', (overlap, queued, missed) => {
    const { queue, reasons } = decided(minutely({ overlap, active: [serialRun] }), NOON + 3 * MINUTE);
    const named = (text: string) => text.replace(/^\d+/, (n) => minute(Number(n)));
    expect([queue, reasons]).toEqual([queued.map(named), missed.map(named)]);
  });

  it('next to allow-all runs do not wait', () => {
    const active = [{ runId: 'run-1', overlap: 'allow-all' as const }];
    expect(decided(minutely({ active }), NOON + MINUTE).queue).toEqual([minute(1)]);
  });

  it('beyond a buffer of a thousand are missed', () => {
    const { queue, reasons } = decided(
      minutely({ overlap: 'buffer-all', active: [serialRun], catchupWindowSeconds: 86_400 }),
      NOON + 1_010 * MINUTE,
    );
    expect([queue.length, reasons.length, reasons[0]]).toEqual([1_000, 10, `${minute(1_001)} buffer`]);
  });
});

it('after three hours away, times before the window are late, and the first of the rest runs (case 48)', () => {
  const { queue, reasons } = decided(minutely(), NOON + 180 * MINUTE);
  expect(queue).toEqual([minute(120)]);
  expect(reasons.filter((text) => text.endsWith('catch-up'))).toHaveLength(119);
  expect(reasons.filter((text) => text.endsWith('overlap'))).toHaveLength(60);
});

it.each(overlap.options)(
  'after five minutes away without runs, %s queues the times that its policy keeps',
  (overlap) => {
    const kept = { skip: [1], 'buffer-one': [1, 2], 'buffer-all': [1, 2, 3, 4, 5], 'cancel-other': [5] };
    const { queue } = decided(minutely({ overlap }), NOON + 5 * MINUTE);
    expect(queue).toEqual({ ...kept, 'allow-all': [1, 2, 3, 4, 5] }[overlap].map(minute));
  },
);

describe('a pause', () => {
  it('applies at once: times without a run are missed, explicit triggers are kept', () => {
    const queue = [waiting(-1, 'buffer-all'), waiting(-1, 'buffer-all', { triggerId: 'aa' })];
    const record = minutely({ pausedAt: minute(1), queue, active: [serialRun] });
    const { reasons, changes } = decided(record, NOON + 2 * MINUTE);
    expect(reasons).toEqual([-1, 1, 2].map((n) => `${minute(n)} paused`));
    expect(changes.queue).toMatchObject([{ triggerId: 'aa' }]);
  });

  it('that has ended skips only its own times, and is then deleted', () => {
    const pauses = [{ from: minute(2), to: minute(4) }];
    const early = decided(minutely({ overlap: 'allow-all', pauses }), NOON + 3 * MINUTE);
    expect([early.queue, early.reasons]).toEqual([[minute(1)], [2, 3].map((n) => `${minute(n)} paused`)]);
    expect(early.changes.pauses).toEqual(pauses);
    const late = decided(minutely({ overlap: 'allow-all', pauses }), NOON + 5 * MINUTE);
    expect([late.queue, late.changes.pauses]).toEqual([[1, 4, 5].map(minute), []]);
  });
});

it('times due before a schedule was replaced use the old one, which is kept while they wait', () => {
  const past = { ...minutely({ overlap: 'buffer-all', function: 'old' }), until: minute(2) };
  const record = minutely({ every: '5m', past: [past], active: [serialRun] });
  const { queue, reasons, changes } = decided(record, NOON + 5 * MINUTE);
  expect([queue, reasons]).toEqual([[minute(1), minute(2)], [`${minute(5)} overlap`]]);
  expect(changes.past).toEqual([past]);
  const later = decided({ ...record, ...changes, queue: [], active: [] }, NOON + 6 * MINUTE);
  expect([later.queue, later.reasons, later.changes.past]).toEqual([[], [], []]);
});

describe('explicit requests', () => {
  const trigger = (id: string, overlap: Overlap) =>
    ({ id, kind: 'trigger', at: minute(0), from: null, to: null, overlap }) as const;

  it.each([
    ['skip', 1],
    ['buffer-one', 2],
    ['buffer-all', 3],
  ] as const)('of three concurrent triggers, %s: %i run', (overlap, ran) => {
    const asks = Object.fromEntries(['aa', 'bb', 'cc'].map((id) => [id, trigger(id, overlap)]));
    const { changes, missed } = decideDue(minutely({ asks, pausedAt: minute(-9) }), NOON);
    const ids = ['aa', 'bb', 'cc'];
    expect(changes.queue.map(({ triggerId }) => triggerId)).toEqual(ids.slice(0, ran));
    expect(missed.map(({ triggerId, reason }) => `${triggerId} ${reason}`)).toEqual(
      ids.slice(ran).map((id) => `${id} overlap`),
    );
    expect(changes.asks).toEqual({});
  });

  it('a backfill covers each of its times, of any age', () => {
    const [from, to] = [minute(-90), minute(-88)];
    const asks = { ee: { id: 'ee', kind: 'backfill', at: minute(0), from, to, overlap: 'allow-all' } } as const;
    const { changes } = decideDue(minutely({ asks, pausedAt: minute(-99) }), NOON);
    expect(changes.queue).toEqual([-90, -89, -88].map((n) => waiting(n, 'allow-all', { isFilled: true })));
  });

  it('waits until earlier immediate ones have started', () => {
    const record = minutely({ asks: { aa: trigger('aa', 'skip') }, queue: [waiting(-1, 'allow-all')] });
    const { changes, nextAt } = decideDue(record, NOON + MINUTE);
    expect([changes.asks, changes.handledUntil, nextAt]).toEqual([record.asks, iso(NOON), NOON + MINUTE]);
  });
});

describe('jitter', () => {
  const record = minutely({ jitterSeconds: 30 });

  it('of a time is deterministic, differs for the next, and never reaches it', () => {
    const all = Array.from({ length: 200 }, (_, n) =>
      getJitterMs(record, { ...record, jitterSeconds: 90 }, NOON + n * MINUTE),
    );
    expect(all).toEqual(all.map((_, n) => getJitterMs(record, { ...record, jitterSeconds: 90 }, NOON + n * MINUTE)));
    expect(new Set(all).size).toBeGreaterThan(190);
    for (const ms of all) expect(ms).toBeLessThan(MINUTE);
    expect(Math.max(...all)).toBeGreaterThan(50 * SECOND);
  });

  it('a time is decided when it is due, and none is lost before', () => {
    const dueAt = NOON + MINUTE + getJitterMs(record, record, NOON + MINUTE);
    const early = decided(record, dueAt - 1);
    expect([early.queue, early.nextAt]).toEqual([[], dueAt]);
    expect(decided({ ...record, ...early.changes }, dueAt).queue).toEqual([minute(1)]);
  });
});

it('returns the next due time, or none, and continues when too many are due at once', () => {
  expect(decided(minutely(), NOON + SECOND).nextAt).toBe(NOON + MINUTE);
  expect(decided(minutely({ endAt: minute(0) }), NOON).nextAt).toBe(Infinity);
  const weeks = minutely({ handledUntil: minute(-6_000) });
  const first = decided(weeks, NOON);
  expect([first.missed.length, first.nextAt]).toEqual([5_000, NOON - 1_000 * MINUTE + MINUTE]);
  const second = decided({ ...weeks, ...first.changes }, NOON);
  expect([first.missed.length + second.missed.length + second.queue.length]).toEqual([6_000]);
});

it('decides each time of a gap and of a repeated hour once, for any number of calls', () => {
  const record = scheduleRecord({
    cron: '0,30 * * * *',
    dst: { gap: 'run-after', repeat: 'both' },
    overlap: 'allow-all',
  });
  for (const [from, count] of [
    ['2026-03-28T23:00:00Z', 10],
    ['2026-10-24T22:00:00Z', 8],
  ] as const) {
    const start = Date.parse(from);
    let state: ScheduleRecord = { ...record, handledUntil: iso(start) };
    const seen: string[] = [];
    for (let now = start; now <= start + 4 * 60 * MINUTE; now += 10 * MINUTE) {
      const { changes, missed } = decideDue(state, now);
      seen.push(...[...changes.queue, ...missed].map(({ at, localTime }) => `${at} ${localTime}`));
      state = { ...state, ...changes, queue: [] };
    }
    expect([new Set(seen).size, seen.length]).toEqual([count, count]);
  }
});
