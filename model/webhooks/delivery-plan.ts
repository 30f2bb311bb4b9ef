const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Before each attempt, since the one before: 75 h 35 min 5 s in all (Standard Webhooks, "Deliverability"). Milliseconds. */
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
/** So much a pause may be shorter or longer. */
const JITTER = 0.1;
/** Milliseconds. */
const LONGEST_RETRY_AFTER = 24 * HOUR;
const DISABLED_AFTER = 5 * 24 * HOUR;
const SLOW = { first: 5 * SECOND, most: 5 * MINUTE } as const;

/** How many attempts there are. */
export const ATTEMPTS = PAUSES.length;

/**
 * When something is sent again.
 * @param pace all times are multiplied by it. `@default` 1
 */
export class DeliveryPlan {
  constructor(private readonly pace = 1) {}

  /**
   * Until the next attempt; null: there is none.
   * @param tries attempts that were made @param retryAfterMs what the endpoint asks for; null: nothing
   * @param chance from 0 to 1
   */
  pauseMs(tries: number, retryAfterMs: number | null, chance = Math.random()): number | null {
    const pause = PAUSES[tries];
    if (pause === undefined) return null;
    const jittered = pause * (1 - JITTER + 2 * JITTER * chance);
    return this.pace * Math.max(jittered, Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER));
  }

  /** How long nothing is sent to an endpoint that has too much to do. @param slowed how often it was before */
  slowMs(slowed: number, retryAfterMs: number | null): number {
    const own = Math.min(SLOW.most, SLOW.first * 2 ** Math.min(16, slowed));
    return this.pace * Math.min(LONGEST_RETRY_AFTER, retryAfterMs ?? own);
  }

  /** Whether it has failed for so long that nothing more is sent. @param since milliseconds since 1970 */
  isGivenUp(since: number, now: number): boolean {
    return now - since >= this.pace * DISABLED_AFTER;
  }
}
