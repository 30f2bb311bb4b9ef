import { expect, it } from 'vitest';
import { SteadyClock } from '../../model/steady-clock.ts';

const HOUR = 3_600_000;

it.each([HOUR, -HOUR])('a wall clock jump of %i ms is reported once, and the clock continues evenly', (jump) => {
  let [wall, monotonic] = [1_000_000_000, 0];
  const jumps: number[] = [];
  const clock = new SteadyClock(
    () => wall,
    () => monotonic,
  );
  clock.onJump = (aheadMs) => jumps.push(aheadMs);
  const pass = (ms: number) => {
    wall += ms;
    monotonic += ms;
    return clock.now();
  };
  const before = pass(1_000);
  expect(before).toBe(wall);
  wall += jump;
  const seen = [clock.now(), ...Array.from({ length: 60 }, () => pass(1_000))];
  expect(jumps).toEqual([jump]);
  expect(seen.toSorted((a, b) => a - b)).toEqual(seen);
  const passed = (seen.at(-1) ?? 0) - before;
  expect(Math.abs(passed - 60_000)).toBeLessThanOrEqual(600);
  pass(101 * HOUR);
  expect(clock.now()).toBe(wall);
  expect(jumps).toEqual([jump]);
});

it('small steps of the wall clock are followed without a jump', () => {
  let [wall, monotonic] = [1_000_000_000, 0];
  const clock = new SteadyClock(
    () => wall,
    () => monotonic,
  );
  clock.onJump = () => expect.unreachable();
  wall += 500;
  monotonic += 400;
  expect(clock.now()).toBe(1_000_000_404);
  wall += 20_000;
  monotonic += 20_000;
  expect(clock.now()).toBe(wall);
});
