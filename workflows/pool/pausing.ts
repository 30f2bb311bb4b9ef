import type { PoolTimes } from '../../model/pools/pool-saga.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';

/** So many in a row that could not be made are no accident. */
export const FAILURES = 3;

interface Failing {
  /** Of those that could not be made, since one was. */
  failures: readonly SandboxFailure[];
  /** Of the last of them. Milliseconds since 1970. */
  failedAt: number;
  times: Pick<PoolTimes, 'retryMs' | 'longestRetryMs'>;
}

/** When more may be made, as far as failures go. Milliseconds since 1970. */
export function retryAtOf({ failures, failedAt, times }: Failing): number {
  const more = failures.length - FAILURES;
  return more < 0 ? 0 : failedAt + Math.min(times.retryMs * 2 ** more, times.longestRetryMs);
}
