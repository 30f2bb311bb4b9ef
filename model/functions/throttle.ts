import type { ThrottleRule } from './function.ts';

/** What the last run of a rule that began has left. */
export interface Ticket {
  /** When it was admitted. Milliseconds since 1970. */
  at: number;
  /** When all that began would have begun, had each kept its distance. Milliseconds since 1970. */
  until: number;
}

/** Clocks of two machines differ by less. Milliseconds. */
const CLOCK_SET_BACK_MS = 60_000;

/**
 * The ticket of a run that begins now, or when one may at the earliest: the generic cell rate algorithm.
 * @param last null: none has begun @param now milliseconds since 1970
 */
export function nextTicket(
  { limit, periodSeconds, burst }: ThrottleRule,
  last: Ticket | null,
  now: number,
): { ticket: Ticket } | { notBefore: number } {
  const distance = (periodSeconds * 1_000) / limit;
  // What was left by a slower rule of another version is bounded by what this one could have left.
  const taken = last ? Math.min(last.until, last.at + burst * distance) : now;
  // How long ago the last one began, nobody knows after a clock was set back: one begins now, and the rest keep their distance.
  if (last && last.at - now > CLOCK_SET_BACK_MS) return { ticket: { at: now, until: now + burst * distance } };
  const notBefore = Math.ceil(taken - (burst - 1) * distance);
  if (now < notBefore) return { notBefore };
  return { ticket: { at: now, until: Math.max(taken, now) + distance } };
}
