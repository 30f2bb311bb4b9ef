/** How far a timestamp may be off, either way (Standard Webhooks, Stripe's libraries). */
const TOLERANCE_SECONDS = 300;

/** Plain decimal. Twelve digits are enough for 30,000 years, and too few for milliseconds. */
const SECONDS = /^(?:0|[1-9][0-9]{0,11})$/;

/**
 * Seconds since 1970, when they are near enough to now.
 * @param now milliseconds since 1970
 */
export function readTimestamp(text: string | null, now: number): { seconds: number } | { why: string } {
  if (text === null) return { why: 'the timestamp is missing, or there are two' };
  if (!SECONDS.test(text)) return { why: 'the timestamp is not a plain number of seconds' };
  const seconds = Number(text);
  const age = secondsOf(now) - seconds;
  if (Math.abs(age) <= TOLERANCE_SECONDS) return { seconds };
  return { why: `the timestamp is ${age} s old, and may be ${TOLERANCE_SECONDS} s off` };
}

/** @param now milliseconds since 1970 */
export function secondsOf(now: number): number {
  return Math.floor(now / 1000);
}
