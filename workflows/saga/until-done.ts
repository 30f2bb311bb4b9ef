import { sleep } from '@temporalio/workflow';

/** More than a person who mends something wants to wait for. Milliseconds. */
const LONGEST_PAUSE_MS = 300_000;

/** Pauses that double, so that what fails for days costs the history little. @param firstMs the first. Milliseconds */
export function growing(firstMs: number): (n: number) => number {
  return (n) => Math.min(firstMs * 2 ** (n - 1), Math.max(firstMs, LONGEST_PAUSE_MS));
}

/**
 * Runs something again and again until it succeeds.
 * @param run the n-th attempt, n from 1
 * @param onFailure what is said of an attempt that failed; it throws to leave off
 * @param pauseMs before the next attempt, which is the n-th, n from 1
 */
export async function untilDone<T>(
  run: (n: number) => Promise<T>,
  onFailure: (error: unknown) => Promise<void> | void,
  pauseMs: (n: number) => number,
): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await run(n);
    } catch (error) {
      await onFailure(error);
    }
    await sleep(pauseMs(n));
  }
}
