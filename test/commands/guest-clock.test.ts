import { expect, it } from 'vitest';
import { GuestClock } from '../../host/exec/guest-clock.ts';

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

it.each([
  ['behind', -800, 0],
  ['an hour behind', -3_600_000, 0],
  ['ahead', 3_600_000, 500],
  ['right', 200, 200],
])('a command starts between its request and now for a clock that is %s', (_how, said, started) => {
  const clock = new GuestClock();
  clock.measure(at(said), [at(0), at(500)], 0);
  expect(clock.toHost(at(said))).toBe(at(started));
  expect(clock.toHost(at(said + 1_000))).toBe(at(started + 1_000));
});

it('restores the offset of a clock from a recorded start', () => {
  const clock = new GuestClock();
  clock.measure(at(-800), [at(10), at(10)], 0);
  expect([clock.toHost(at(200)), clock.toHost(null)]).toEqual([at(1_010), null]);
});

it.each([
  ['an hour behind', -3_600_000],
  ['an hour ahead', 3_600_000],
])('corrects the times of a guest that is %s by the skew measured at login', (_how, skewMs) => {
  const clock = new GuestClock();
  clock.measure(at(skewMs + 200), [at(0), at(500)], skewMs);
  expect(clock.toHost(at(skewMs + 200))).toBe(at(200));
  expect(clock.toHostEnd(at(skewMs + 400), at(200), at(450))).toBe(at(400));
});

it.each([-3_600_000, 3_600_000])("ends now when the guest's clock was set by %i ms during the command", (setMs) => {
  const clock = new GuestClock();
  clock.measure(at(200), [at(0), at(500)], 0);
  expect(clock.toHostEnd(at(setMs + 700), at(200), at(800))).toBe(at(800));
});
