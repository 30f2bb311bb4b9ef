import type { CommandRecord } from '../../model/sandbox/command.ts';

/**
 * Difference of a guest's clock to the host's, so that all times of a command use one clock. It is the skew measured at
 * the login, unless the guest's clock was set since.
 */
export class GuestClock {
  #aheadMs = 0;

  /**
   * Measures the difference. @param guestTime guest's time, ISO 8601
   * @param between host's times before and after it, ISO 8601; equal: exactly then @param skewMs measured at the login
   */
  measure(guestTime: string, [from, until]: readonly [string, string], skewMs: number): void {
    const at = Date.parse(guestTime);
    const known = Math.min(Date.parse(until), Math.max(Date.parse(from), at - skewMs));
    this.#aheadMs = at - known;
  }

  /** Returns the start by the host's clock; a recorded start calibrates the clock of its guest. */
  startOf({ requestedAt, startedAt: recorded }: CommandRecord, said: string | null, skewMs: number): string | null {
    if (said === null) return recorded;
    const now = new Date().toISOString();
    this.measure(said, recorded === null ? [requestedAt, now] : [recorded, recorded], skewMs);
    return this.toHost(said);
  }

  /** Converts a guest's time to the host's clock. @param said ISO 8601; null stays null */
  toHost(said: string): string;
  toHost(said: string | null): string | null;
  toHost(said: string | null): string | null {
    return said === null ? null : new Date(Date.parse(said) - this.#aheadMs).toISOString();
  }

  /** Returns an end by the host's clock: `now` when the guest's clock was set since the start. @param said ISO 8601 */
  toHostEnd(said: string, startedAt: string | null, now: string): string {
    const at = this.toHost(said);
    return at > now || (startedAt !== null && at < startedAt) ? now : at;
  }
}
