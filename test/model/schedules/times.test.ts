import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cron, parseCron } from '../../../model/schedules/cron.ts';
import { eachTimeBetween, findNextRun, type Times } from '../../../model/schedules/times.ts';
import { listTransitions } from '../../../model/schedules/zone.ts';

/** Guards: times of a schedule, and the effect of clock changes. */
const BERLIN = { every: null, timeZone: 'Europe/Berlin', startAt: null, endAt: null } as const;
const half = { ...BERLIN, cron: '30 2 * * *' };
const skip = { gap: 'skip', repeat: 'first' } as const;

function between(times: Times, from: string, to: string): string[] {
  return [...eachTimeBetween(times, Date.parse(from), Date.parse(to))].map(({ at, localTime, dst, isRun }) =>
    [new Date(at).toISOString().slice(0, 16), localTime, dst ?? '', isRun ? 'run' : ''].join(' '),
  );
}

describe('30 2 * * * in Berlin (case 47)', () => {
  const gap = (policy: 'skip' | 'run-after') =>
    between({ ...half, dst: { ...skip, gap: policy } }, '2026-03-28T12:00Z', '2026-03-30T12:00Z');
  const repeat = (policy: 'first' | 'both') =>
    between({ ...half, dst: { ...skip, repeat: policy } }, '2026-10-24T12:00Z', '2026-10-26T12:00Z');

  it('is skipped on 29 March 2026, or runs right after the gap', () => {
    const day = '2026-03-30T00:30 2026-03-30T02:30  run';
    expect(gap('skip')).toEqual(['2026-03-29T01:00 2026-03-29T02:30 gap ', day]);
    expect(gap('run-after')).toEqual(['2026-03-29T01:00 2026-03-29T02:30 gap run', day]);
  });

  it('runs once on 25 October 2026, or twice', () => {
    const [first, day] = ['2026-10-25T00:30 2026-10-25T02:30  run', '2026-10-26T01:30 2026-10-26T02:30  run'];
    expect(repeat('first')).toEqual([first, '2026-10-25T01:30 2026-10-25T02:30 repeat ', day]);
    expect(repeat('both')).toEqual([first, '2026-10-25T01:30 2026-10-25T02:30 repeat run', day]);
  });

  it('is classified the same when its instant is queried alone', () => {
    const both = { ...half, dst: { gap: 'run-after', repeat: 'first' } } as const;
    const at = (text: string) => [...eachTimeBetween(both, Date.parse(text) - 1, Date.parse(text))];
    expect(at('2026-10-25T01:30Z')).toMatchObject([{ dst: 'repeat', isRun: false }]);
    expect(at('2026-10-25T00:30Z')).toMatchObject([{ dst: null, isRun: true }]);
    expect(at('2026-03-29T01:00Z')).toMatchObject([{ localTime: '2026-03-29T02:30', isRun: true }]);
  });
});

it('runs the first of several in a gap, and none when the time after it is a time itself', () => {
  const after = (cron: string) =>
    between({ ...BERLIN, cron, dst: { ...skip, gap: 'run-after' } }, '2026-03-29T00:50Z', '2026-03-29T01:10Z');
  expect(after('0,20,40 2 * * *')).toEqual([
    '2026-03-29T01:00 2026-03-29T02:00 gap run',
    '2026-03-29T01:00 2026-03-29T02:20 gap ',
    '2026-03-29T01:00 2026-03-29T02:40 gap ',
  ]);
  expect(after('30 * * * *').filter((time) => time.endsWith('run'))).toEqual([
    '2026-03-29T01:00 2026-03-29T02:30 gap run',
  ]);
  expect(after('0,30 * * * *')).toEqual([
    '2026-03-29T01:00 2026-03-29T02:00 gap ',
    '2026-03-29T01:00 2026-03-29T02:30 gap ',
    '2026-03-29T01:00 2026-03-29T03:00  run',
  ]);
});

it('skips the repeated hour, for each minute', () => {
  const all = between({ ...BERLIN, cron: '* * * * *', dst: skip }, '2026-10-24T23:59Z', '2026-10-25T02:00Z');
  expect(all.filter((time) => time.endsWith('run'))).toHaveLength(61); // an hour, and 03:00
  expect(all.filter((time) => time.endsWith('repeat '))).toHaveLength(60);
});

it('respects its bounds, both inclusive, and returns null after the last', () => {
  const bounded = { ...half, dst: skip, startAt: '2026-06-01T00:30:00.000Z', endAt: '2026-06-02T00:30:00.000Z' };
  expect(between(bounded, '2026-01-01T00:00Z', '2027-01-01T00:00Z')).toHaveLength(2);
  expect(findNextRun(bounded, Date.parse('2026-06-02T00:30:00Z'))).toBeNull();
});

it('finds the next time years ahead', () => {
  const leap = { ...BERLIN, cron: '0 0 29 2 *', dst: skip };
  expect(findNextRun(leap, Date.parse('2096-03-01T00:00Z'))).toBeNull(); // 2100 is not a leap year
  expect(findNextRun(leap, Date.parse('2026-01-01T00:00Z'))?.localTime).toBe('2028-02-29T00:00');
});

it('counts intervals from 1970', () => {
  const every = { ...BERLIN, cron: null, every: '15m', dst: skip };
  expect(between(every, '2026-03-29T00:50Z', '2026-03-29T01:15Z').map((time) => time.slice(0, 16))).toEqual([
    '2026-03-29T01:00',
    '2026-03-29T01:15',
  ]);
});

/** Zones with gaps and repeats of an hour or less, at night, at midnight, and in the south; and without. */
const ZONES = 'Europe/Berlin America/New_York America/Santiago Africa/Cairo Africa/Casablanca Australia/Lord_Howe UTC';
const MINUTE = 60_000;

/** Reads a clock of the zone each minute, without knowledge of transitions. */
function* readings(cron: Cron, timeZone: string, from: number, to: number): Generator<string> {
  const clock = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  const shown = (at: number) => Date.parse(`${clock.format(at).replace(' ', 'T')}Z`);
  const line = (at: number, wall: number, dst: string) =>
    `${new Date(at).toISOString().slice(0, 16)} ${new Date(wall).toISOString().slice(0, 16)} ${dst}`;
  const isTime = (wall: number) => {
    const time = new Date(wall);
    const isOfMonth = cron.daysOfMonth.includes(time.getUTCDate());
    const isOfWeek = cron.daysOfWeek.includes(time.getUTCDay());
    const isOfDay = cron.isEither ? isOfMonth || isOfWeek : isOfMonth && isOfWeek;
    const isOfClock = cron.minutes.includes(time.getUTCMinutes()) && cron.hours.includes(time.getUTCHours());
    return isOfDay && isOfClock && cron.months.includes(time.getUTCMonth() + 1);
  };
  let latest = shown(from - MINUTE);
  for (let at = from; at <= to; at += MINUTE) {
    const wall = shown(at);
    for (let left = latest + MINUTE; left < wall; left += MINUTE) if (isTime(left)) yield line(at, left, 'gap');
    if (isTime(wall)) yield line(at, wall, wall <= latest ? 'repeat' : '');
    latest = Math.max(latest, wall);
  }
}

it('matches a wall clock for any expression, around changes in zones of all kinds', () => {
  const field = (min: number, max: number) =>
    fc.oneof(
      { weight: 3, arbitrary: fc.constant('*') },
      fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 4 }).map((values) => values.join(',')),
      fc.integer({ min: 2, max: max - min }).map((step) => `*/${step}`),
    );
  const text = fc.tuple(field(0, 59), field(0, 4), field(1, 31), field(1, 12), field(0, 6)).map((all) => all.join(' '));
  const dst = fc.record({ gap: fc.constantFrom('skip', 'run-after'), repeat: fc.constantFrom('first', 'both') });
  fc.assert(
    fc.property(text, dst, fc.constantFrom(...ZONES.split(' ')), fc.nat(), (expression, policy, timeZone, nth) => {
      const cron = parseCron(expression);
      if ('problem' in cron) return; // it never fires
      const changes = listTransitions(timeZone, Date.UTC(2026, 0, 1), Date.UTC(2029, 0, 1));
      const from = (changes[nth % (changes.length || 1)]?.at ?? Date.UTC(2027, 5, 1)) - 720 * MINUTE;
      const times = { ...BERLIN, cron: expression, timeZone, dst: policy };
      const found = [...eachTimeBetween(times, from - 1, from + 2_160 * MINUTE)];
      expect(
        found.map(({ at, localTime, dst }) => `${new Date(at).toISOString().slice(0, 16)} ${localTime} ${dst ?? ''}`),
      ).toEqual([...readings(cron, timeZone, from, from + 2_160 * MINUTE)]);
      for (const { dst, isRun } of found)
        if (dst !== 'gap') expect(isRun).toBe(dst === null || policy.repeat === 'both');
    }),
    { numRuns: Number(process.env['MAYFLY_TEST_RUNS'] ?? 30) },
  );
});
