const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Backoff before each attempt, ms: 75 h 35 min 5 s in all (Standard Webhooks, "Deliverability"). */
const PAUSES = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;
/** Relative jitter of a backoff, in both directions. */
const JITTER = 0.1;
/** Milliseconds. */
const LONGEST_RETRY_AFTER = 24 * HOUR;
const DISABLED_AFTER = 5 * 24 * HOUR;
const SLOW = { first: 5 * SECOND, most: 5 * MINUTE } as const;

/** Maximum number of attempts. */
export const ATTEMPTS = PAUSES.length;

/** Retry policy of deliveries. @param pace factor for all times. `@default` 1 */
export class DeliveryRetryPolicy {
  constructor(private readonly pace = 1) {}

  /**
   * Returns the backoff before the next attempt, ms; null: no further attempt.
   * @param tries number of previous attempts
   * @param retryAfterMs requested by the endpoint; null: none
   * @param chance 0 to 1
   */
  pauseMs(tries: number, retryAfterMs: number | null, chance = Math.random()): number | null {
    const pause = PAUSES[tries];
    if (pause === undefined) return null;
    const jittered = pause * (1 - JITTER + 2 * JITTER * chance);
    return this.pace * Math.max(jittered, Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER));
  }

  /** Returns how long an overloaded endpoint gets no requests, ms. @param slowed number of previous slowdowns */
  slowMs(slowed: number, retryAfterMs: number | null): number {
    const own = Math.min(SLOW.most, SLOW.first * 2 ** Math.min(16, slowed));
    return this.pace * Math.min(LONGEST_RETRY_AFTER, retryAfterMs ?? own);
  }

  /** True when it has failed for so long that deliveries stop. @param since ms since 1970 */
  isGivenUp(since: number, now: number): boolean {
    return now - since >= this.pace * DISABLED_AFTER;
  }
}
