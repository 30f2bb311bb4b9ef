import { expect, it } from 'vitest';
import { lostTimes, type Passed } from '../../../model/schedules/lost-times.ts';
import type { Overlap } from '../../../model/schedules/schedule.ts';

/** Why times had no run, by what Temporal says it has counted. */
const MINUTE_MS = 60_000;
const minutes = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => {
    const at = (from + n) * MINUTE_MS;
    return { at, localTime: String(at), dst: null, isRun: true };
  });
const QUIET = {
  begun: new Set<number>(),
  waiting: 0,
  counted: { missed: 0, dropped: 0 },
  createdAt: '1970-01-01T00:00Z',
};

function reasons(overlap: Overlap, passed: Pick<Passed, 'open' | 'now'> & Partial<Passed>, more: object = {}) {
  const schedule = {
    overlap,
    catchupWindowSeconds: 3_600,
    pausedAt: null,
    pauses: [],
    counted: { missed: 0, dropped: 0 },
    ...more,
  };
  const { lost, openFrom } = lostTimes(schedule, { ...QUIET, ...passed });
  const count = (reason: string) => lost.filter((each) => each.reason === reason).length;
  return {
    'catch-up': count('catch-up'),
    overlap: count('overlap'),
    buffer: count('buffer'),
    paused: count('paused'),
    openFrom,
  };
}

it('was away for three hours: what is older than the window is late, the rest overlaps the one that was begun (case 48)', () => {
  const open = minutes(1, 180).filter(({ at }) => at !== 121 * MINUTE_MS);
  const counted = { missed: 120, dropped: 0 };
  expect(reasons('skip', { open, now: 180 * MINUTE_MS + 30_000, counted })).toMatchObject({
    'catch-up': 120,
    overlap: 59,
    openFrom: null,
  });
});

it('was up while we were away: all overlap', () => {
  expect(reasons('skip', { open: minutes(2, 180), now: 181 * MINUTE_MS })).toMatchObject({
    'catch-up': 0,
    overlap: 179,
  });
});

it('keeps open what waits, or was begun: the first, or the last where that cancels others', () => {
  const passed = { open: minutes(1, 5), now: 6 * MINUTE_MS };
  expect(reasons('buffer-one', { ...passed, waiting: 1 })).toMatchObject({ overlap: 4, openFrom: MINUTE_MS });
  expect(reasons('buffer-all', { ...passed, waiting: 5 })).toMatchObject({ overlap: 0, openFrom: MINUTE_MS });
  expect(reasons('cancel-other', { ...passed, waiting: 1 })).toMatchObject({ overlap: 4, openFrom: 5 * MINUTE_MS });
  expect(reasons('skip', { ...passed, begun: new Set([MINUTE_MS]) })).toMatchObject({
    overlap: 4,
    openFrom: MINUTE_MS,
  });
  expect(reasons('allow-all', passed)).toMatchObject({ overlap: 0, openFrom: MINUTE_MS });
});

it('says which its buffer had no room for: the last', () => {
  const passed = {
    open: minutes(1, 1_010),
    now: 1_011 * MINUTE_MS,
    waiting: 1_000,
    counted: { missed: 0, dropped: 10 },
  };
  expect(reasons('buffer-all', passed)).toMatchObject({ buffer: 10, overlap: 0, openFrom: MINUTE_MS });
});

it('was paused: neither late nor overlapped', () => {
  const passed = { open: minutes(1, 10), now: 11 * MINUTE_MS };
  const pauses = [{ from: '1970-01-01T00:02:00.000Z', to: '1970-01-01T00:04:00.000Z' }];
  expect(reasons('skip', passed, { pauses, pausedAt: '1970-01-01T00:09:00.000Z' })).toMatchObject({
    paused: 4,
    overlap: 6,
  });
});
