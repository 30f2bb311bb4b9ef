import { CancellationScope, log, sleep, workflowInfo } from '@temporalio/workflow';
import { failureOf } from './failure.ts';

/** Longest pause: after a repair, the retry comes within five minutes. Milliseconds. */
const LONGEST_PAUSE_MS = 300_000;
/** Longest pause of a run with a long history, ms: at forty events an attempt, the history outlasts the longest TTL. */
const RARE_PAUSE_MS = 3_600_000;
const LONG_HISTORY = 10_000;

interface RetryPolicy {
  /** Pause after the first attempt, ms. It doubles, so that days of failures cost little history. */
  pauseMs: number;
  /** `@default` five minutes */
  longestPauseMs?: number;
  /** Records the reason for the wait; null: success. */
  recordWaiting: (waitingFor: string | null) => unknown;
}

/**
 * Retries until success; the record shows the reason. Ends with its scope.
 * @param what names the step, unless the attempt itself does
 * @param attempt n-th attempt, n from 1
 * @throws CancelledFailure
 */
export async function retryForever<T>(
  what: string | (() => string),
  attempt: (n: number) => Promise<T>,
  { pauseMs, longestPauseMs, recordWaiting }: RetryPolicy,
): Promise<T> {
  let recorded: string | null = null;
  for (let n = 1; ; n++) {
    try {
      const result = await attempt(n);
      if (recorded !== null) await recordWaiting(null);
      return result;
    } catch (error) {
      if (CancellationScope.current().consideredCancelled) throw error;
      const step = typeof what === 'string' ? what : what();
      const waitingFor = `${step}: ${failureOf(error, step).message}`;
      log.warn('retry until success', { waitingFor });
      if (waitingFor !== recorded) await recordWaiting(waitingFor);
      recorded = waitingFor;
    }
    const usualMs = workflowInfo().historyLength > LONG_HISTORY ? RARE_PAUSE_MS : LONGEST_PAUSE_MS;
    await sleep(Math.min(pauseMs * 2 ** (n - 1), longestPauseMs ?? Math.max(pauseMs, usualMs)));
  }
}
