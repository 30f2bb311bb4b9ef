import type { StepTiming } from '../../model/sandbox/sandbox.ts';
import { between, duration } from '../terminal/duration.ts';
import { printable } from '../terminal/printable.ts';

/** Characters of the longest line of bars. */
const WIDTH = 48;

/**
 * Steps as bars below each other, on a line that goes from the first begin to the last end. A step is at least one
 * character long, however quick it was.
 */
export function timeLine(steps: readonly StepTiming[]): string[] {
  const [first] = steps;
  if (!first) return [];
  const total = Math.max(1, ...steps.map(({ endedAt }) => between(first.startedAt, endedAt)));
  const column = (at: string) => Math.round((WIDTH * Math.max(0, between(first.startedAt, at))) / total);
  const widest = Math.max(...steps.map(({ step }) => step.length));
  return steps.map(({ step, startedAt, endedAt }) => {
    const begin = Math.min(column(startedAt), WIDTH - 1);
    const bar = '█'.repeat(Math.max(1, column(endedAt) - begin));
    const line = `${' '.repeat(begin)}${bar}`.padEnd(WIDTH);
    return `${printable(step).padEnd(widest)}  ${line}  ${duration(between(startedAt, endedAt))}`;
  });
}
