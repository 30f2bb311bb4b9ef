import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { withinDeadline } from '../../../clients/typescript/http/deadline.ts';
import { MayflyDeadlineError } from '../../../clients/typescript/http/problem.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a deadline of 30 days, beyond the range of a timer, ends after 30 days', async () => {
  const seconds = 2_592_000;
  const signals: AbortSignal[] = [];
  const over = withinDeadline(seconds, undefined, (given) => {
    signals.push(given);
    return new Promise((_resolve, reject) => {
      given.addEventListener('abort', () => reject(given.reason));
    });
  });
  const ended = expect(over).rejects.toThrow(MayflyDeadlineError);
  await vi.advanceTimersByTimeAsync(seconds * 1_000 - 1);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await vi.advanceTimersByTimeAsync(1);
  await ended;
});
