import { describe, expect, it } from 'vitest';
import { nextRun, type Times, timeAt, timesBetween } from '../../../model/schedules/times.ts';

/** Which times a schedule has, and what its clocks do to them. */
const BERLIN = { every: null, timeZone: 'Europe/Berlin', startAt: null, endAt: null } as const;
const half = { ...BERLIN, cron: '30 2 * * *' };
const skip = { gap: 'skip', repeat: 'first' } as const;

function between(times: Times, from: string, to: string): string[] {
  return [...timesBetween(times, Date.parse(from), Date.parse(to))].map(({ at, localTime, dst, isRun }) =>
    [new Date(at).toISOString().slice(0, 16), localTime, dst ?? '', isRun ? 'run' : ''].join(' '),
  );
}

describe('30 2 * * * in Berlin (case 47)', () => {
  const gap = (policy: 'skip' | 'run-after') =>
    between({ ...half, dst: { ...skip, gap: policy } }, '2026-03-28T12:00Z', '2026-03-30T12:00Z');
  const repeat = (policy: 'first' | 'both') =>
    between({ ...half, dst: { ...skip, repeat: policy } }, '2026-10-24T12:00Z', '2026-10-26T12:00Z');

  it('is not run on 29 March 2026, or right after the gap', () => {
    const day = '2026-03-30T00:30 2026-03-30T02:30  run';
    expect(gap('skip')).toEqual(['2026-03-29T01:00 2026-03-29T02:30 gap ', day]);
    expect(gap('run-after')).toEqual(['2026-03-29T01:00 2026-03-29T02:30 gap run', day]);
  });

  it('is run once on 25 October 2026, or twice', () => {
    const [first, day] = ['2026-10-25T00:30 2026-10-25T02:30  run', '2026-10-26T01:30 2026-10-26T02:30  run'];
    expect(repeat('first')).toEqual([first, '2026-10-25T01:30 2026-10-25T02:30 repeat ', day]);
    expect(repeat('both')).toEqual([first, '2026-10-25T01:30 2026-10-25T02:30 repeat run', day]);
  });

  it('is known as what it is, whoever asks for that instant alone', () => {
    const both = { ...half, dst: { gap: 'run-after', repeat: 'first' } } as const;
    expect(timeAt(both, Date.parse('2026-10-25T01:30Z'))).toMatchObject({ dst: 'repeat', isRun: false });
    expect(timeAt(both, Date.parse('2026-10-25T00:30Z'))).toMatchObject({ dst: null, isRun: true });
    expect(timeAt(both, Date.parse('2026-03-29T01:00Z'))).toMatchObject({ localTime: '2026-03-29T02:30', isRun: true });
    expect(timeAt({ ...half, dst: skip }, Date.parse('2026-03-29T01:00Z'))).toBeNull();
  });
});

it('runs the first of several in a gap, and none where the one after it is a time itself', () => {
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

it('leaves out the hour that comes again, of each minute', () => {
  const all = between({ ...BERLIN, cron: '* * * * *', dst: skip }, '2026-10-24T23:59Z', '2026-10-25T02:00Z');
  expect(all.filter((time) => time.endsWith('run'))).toHaveLength(61); // an hour, and 03:00
  expect(all.filter((time) => time.endsWith('repeat '))).toHaveLength(60);
});

it('keeps to its bounds, both inclusive, and knows when there is none any more', () => {
  const bounded = { ...half, dst: skip, startAt: '2026-06-01T00:30:00.000Z', endAt: '2026-06-02T00:30:00.000Z' };
  expect(between(bounded, '2026-01-01T00:00Z', '2027-01-01T00:00Z')).toHaveLength(2);
  expect(nextRun(bounded, Date.parse('2026-06-02T00:30:00Z'))).toBeNull();
});

it('finds the next in years to come', () => {
  const leap = { ...BERLIN, cron: '0 0 29 2 *', dst: skip };
  expect(nextRun(leap, Date.parse('2096-03-01T00:00Z'))).toBeNull(); // 2100 has none
  expect(nextRun(leap, Date.parse('2026-01-01T00:00Z'))?.localTime).toBe('2028-02-29T00:00');
});

it('counts intervals from 1970', () => {
  const every = { ...BERLIN, cron: null, every: '15m', dst: skip };
  expect(between(every, '2026-03-29T00:50Z', '2026-03-29T01:15Z').map((time) => time.slice(0, 16))).toEqual([
    '2026-03-29T01:00',
    '2026-03-29T01:15',
  ]);
});
