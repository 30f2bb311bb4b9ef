import { sleep } from '@temporalio/workflow';

/**
 * Runs something again and again until it succeeds.
 * @param onFailure what is said of an attempt that failed; it throws to leave off
 * @param pauseMs before the next attempt, which is the n-th, n from 1
 */
export async function untilDone<T>(
  run: () => Promise<T>,
  onFailure: (error: unknown) => Promise<void> | void,
  pauseMs: (n: number) => number,
): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await run();
    } catch (error) {
      await onFailure(error);
    }
    await sleep(pauseMs(n));
  }
}
