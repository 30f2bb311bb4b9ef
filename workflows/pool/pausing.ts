import type { PoolTimes } from '../../model/pools/pool-saga.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';

/** Number of consecutive creation failures after which a pool backs off. */
export const FAILURES = 3;

interface FailureHistory {
  /** Creation failures since the last success. */
  failures: readonly SandboxFailure[];
  /** Time of the latest failure, ms since 1970. */
  failedAt: number;
  times: Pick<PoolTimes, 'retryMs' | 'longestRetryMs'>;
}

/** Returns when the backoff after failures ends, ms since 1970. */
export function backoffEnd({ failures, failedAt, times }: FailureHistory): number {
  const more = failures.length - FAILURES;
  return more < 0 ? 0 : failedAt + Math.min(times.retryMs * 2 ** more, times.longestRetryMs);
}
