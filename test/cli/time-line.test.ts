import fc from 'fast-check';
import { expect, it } from 'vitest';
import { timeLine } from '../../cli/demo/time-line.ts';
import { seedOf } from '../support/sweep.ts';

const at = (ms: number) => new Date(Date.UTC(2026, 10, 22) + ms).toISOString();
const step = (name: string, from: number, to: number) => ({ step: name, startedAt: at(from), endedAt: at(to) });

// Promise: the demo ends with the saga's steps as bars. Costs nothing.
it('shows when each step was, and how long', () => {
  const steps = [step('reserve', 0, 10), step('bootDomain', 10, 500), step('awaitIp', 500, 1_000)];
  expect(timeLine(steps)).toEqual([
    `reserve     ${'█'.padEnd(48)}  10 ms`,
    `bootDomain  ${'█'.repeat(24).padEnd(48)}  490 ms`,
    `awaitIp     ${' '.repeat(24)}${'█'.repeat(24)}  500 ms`,
  ]);
  expect(timeLine([])).toEqual([]);
});

it('has a bar of its own for each step, inside the line, whatever the clocks say', () => {
  const steps = fc.array(fc.tuple(fc.integer({ min: -5_000, max: 5_000 }), fc.nat(9_000)), { minLength: 1 });
  const holds = fc.property(steps, (found) => {
    const lines = timeLine(found.map(([from, long]) => step('s', from, from + long)));
    expect(lines.length).toBe(found.length);
    for (const line of lines) expect(line).toMatch(/^s {2} *█+ * {2}\d/);
    for (const line of lines) expect(line.replace(/ {2}[\d.]+ m?s$/, '').length).toBe(3 + 48);
  });
  fc.assert(holds, { seed: seedOf('time-line') });
});
