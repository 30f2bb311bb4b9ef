import type { LoginFailure } from '../ssh/login.ts';

/**
 * What may be done about a failed attempt to reach a guest.
 *
 * `transient`: wait and try again. `first-boot`: the same, but only while nobody has ever logged in there: sshd listens
 * before the guest has read whom to trust. `reissue`: with a new certificate, once. `never`: it will fail again, or
 * something may have run.
 */
export type Verdict = 'transient' | 'first-boot' | 'reissue' | 'never';

export interface Known {
  /** A login has succeeded since it was made. */
  verified: boolean;
  /** The certificate has been issued anew because of this. */
  reissued: boolean;
}

/** From one attempt to the next, before jitter. Milliseconds. One more attempt than there are pauses. */
export const PAUSES_MS: readonly number[] = [2_000, 4_000, 8_000, 16_000, 30_000];
/** So that many who lost the same machine do not come back at the same moment. */
const JITTER = 0.2;

/** By how far the attempt came, never by what a text contains: see {@link LoginFailure}. */
export function verdictOf(failure: LoginFailure): Verdict {
  if (failure.stage === 'host-key') return 'never';
  if (failure.lost) return 'transient';
  return failure.stage === 'auth' ? 'first-boot' : 'never';
}

export function mayRetry(verdict: Verdict, { verified, reissued }: Known): boolean {
  switch (verdict) {
    case 'transient':
      return true;
    case 'first-boot':
      return !verified;
    case 'reissue':
      return !reissued;
    case 'never':
      return false;
  }
}

/**
 * The pause before attempt `attempt + 1`, ±20 %; null when that was the last.
 * @param attempt 1 for the first
 */
export function pauseAfter(attempt: number, random = Math.random()): number | null {
  const pause = PAUSES_MS[attempt - 1];
  return pause === undefined ? null : Math.round(pause * (1 + JITTER * (2 * random - 1)));
}
