import type { LoginFailure } from '../ssh/login.ts';

/**
 * Retry decision after a failed attempt to reach a guest.
 *
 * `transient`: wait and retry. `first-boot`: the same, but only before the first successful login: sshd listens before
 * the guest has read its trusted keys. `reissue`: retry once with a new certificate. `never`: it will fail again, or
 * something may have run.
 */
export type RetryDecision = 'transient' | 'first-boot' | 'reissue' | 'never';

export interface RetryState {
  /** True when a login has succeeded since the create. */
  verified: boolean;
  /** True when the certificate was reissued because of this failure. */
  reissued: boolean;
}

/** Backoff between attempts before jitter, ms. One attempt more than pauses. */
export const BACKOFF_MS: readonly number[] = [2_000, 4_000, 8_000, 16_000, 30_000];
/** Jitter, so that many clients of the same lost machine do not return at the same moment. */
const JITTER = 0.2;

/** Classifies a failure by its stage, never by its text: see {@link LoginFailure}. */
export function classifyFailure(failure: LoginFailure): RetryDecision {
  if (failure.stage === 'host-key') return 'never';
  if (failure.lost) return 'transient';
  return failure.stage === 'auth' ? 'first-boot' : 'never';
}

export function canRetry(verdict: RetryDecision, { verified, reissued }: RetryState): boolean {
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

/** Returns the pause before attempt `attempt + 1`, ±20 %; null after the last. @param attempt 1 for the first */
export function getBackoff(attempt: number, random = Math.random()): number | null {
  const pause = BACKOFF_MS[attempt - 1];
  return pause === undefined ? null : Math.round(pause * (1 + JITTER * (2 * random - 1)));
}
