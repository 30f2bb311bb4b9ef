import { expect, it } from 'vitest';
import { GuestClock } from '../../commands/guest-clock.ts';

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

it.each([
  ['behind', -800, 0],
  ['an hour behind', -3_600_000, 0],
  ['ahead', 3_600_000, 500],
  ['right', 200, 200],
])(
  'a command is not started before it was requested, nor later than now: a clock that is %s',
  (_how, said, started) => {
    const clock = new GuestClock();
    clock.measure(at(said), [at(0), at(500)]);
    expect(clock.toHost(at(said))).toBe(at(started));
    expect(clock.toHost(at(said + 1_000))).toBe(at(started + 1_000));
  },
);

it('is known again by a start that was recorded', () => {
  const clock = new GuestClock();
  clock.measure(at(-800), [at(10), at(10)]);
  expect([clock.toHost(at(200)), clock.toHost(null)]).toEqual([at(1_010), null]);
});
