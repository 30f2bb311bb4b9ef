import type { ThrottleRule } from './function.ts';

/** State of a rate limit after its last admission. */
export interface RateState {
  /** Time of the last admission, ms since 1970. */
  at: number;
  /** Theoretical arrival time of GCRA: time at which all admissions would have fit the rate, ms since 1970. */
  until: number;
}

/** Largest clock difference between two machines, ms. */
const CLOCK_SET_BACK_MS = 60_000;

/**
 * Returns the ticket of a run that starts now, or its earliest start: the generic cell rate algorithm.
 * @param last null: no earlier admission
 * @param now ms since 1970
 */
export function takeTicket(
  { limit, periodSeconds, burst }: ThrottleRule,
  last: RateState | null,
  now: number,
): { ticket: RateState } | { notBefore: number } {
  const distance = (periodSeconds * 1_000) / limit;
  // State left by a slower rule of another version is capped by what this rule could have left.
  const taken = last ? Math.min(last.until, last.at + burst * distance) : now;
  // After a clock was set back the time since the last admission is unknown: admits one, and uses up the burst.
  if (last && last.at - now > CLOCK_SET_BACK_MS) return { ticket: { at: now, until: now + burst * distance } };
  const notBefore = Math.ceil(taken - (burst - 1) * distance);
  if (now < notBefore) return { notBefore };
  return { ticket: { at: now, until: Math.max(taken, now) + distance } };
}
