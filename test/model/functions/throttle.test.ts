import { expect, it } from 'vitest';
import { type RateState, takeTicket } from '../../../model/functions/throttle.ts';

const rule = (limit: number, periodSeconds: number, burst: number) =>
  ({ limit, periodSeconds, burst, key: null, onFull: 'queue' }) as const;

/** Returns the earliest start of each arrival. */
function begun(of: ReturnType<typeof rule>, arrivals: readonly number[]): number[] {
  let last: RateState | null = null;
  return arrivals.map((arrival) => {
    let now = Math.max(arrival, last?.at ?? 0);
    for (;;) {
      const next = takeTicket(of, last, now);
      if ('ticket' in next) {
        last = next.ticket;
        return now;
      }
      expect(next.notBefore).toBeGreaterThan(now);
      now = next.notBefore;
    }
  });
}

it('starts one per period / limit', () => {
  expect(begun(rule(2, 10, 1), [0, 0, 0, 100])).toEqual([0, 5_000, 10_000, 15_000]);
});

it('starts a burst at once, and again after a pause', () => {
  expect(begun(rule(2, 10, 3), [0, 0, 0, 0, 60_000, 60_000, 60_000, 60_000])).toEqual([
    0, 0, 0, 5_000, 60_000, 60_000, 60_000, 65_000,
  ]);
});

it('never starts more than limit + burst - 1 in a period', () => {
  const of = rule(7, 3, 4);
  const times = begun(
    of,
    Array.from({ length: 200 }, (_, n) => (n * 7_919) % 20_000).toSorted((a, b) => a - b),
  );
  for (const from of new Set(times))
    expect(times.filter((at) => at >= from && at < from + 3_000).length).toBeLessThanOrEqual(10);
});

it('ignores the state of a slower rule of another version', () => {
  const left = takeTicket(rule(1, 86_400, 1), null, 0);
  if (!('ticket' in left)) throw new Error('none');
  expect(takeTicket(rule(1, 1, 1), left.ticket, 1_000)).toMatchObject({ ticket: { at: 1_000 } });
});

it('starts one at once when the clock was set back by an hour, and the next a period later', () => {
  const HOUR = 3_600_000;
  const left = takeTicket(rule(1, 60, 1), null, 2 * HOUR);
  if (!('ticket' in left)) throw new Error('none');
  const next = takeTicket(rule(1, 60, 1), left.ticket, HOUR);
  expect(next).toEqual({ ticket: { at: HOUR, until: HOUR + 60_000 } });
  if (!('ticket' in next)) throw new Error('none');
  expect(takeTicket(rule(1, 60, 1), next.ticket, HOUR + 1_000)).toEqual({ notBefore: HOUR + 60_000 });
});
