/**
 * Difference of a guest's clock to the host's, as far as a time of the guest's is known to be between two of the host's: so all
 * times of a command are of one clock.
 */
export class GuestClock {
  #aheadMs = 0;

  /** @param said by the guest, ISO 8601 @param between before and after it, by the host; the same twice: it was exactly then. ISO 8601 */
  measure(said: string, [from, until]: readonly [string, string]): void {
    const at = Date.parse(said);
    const known = Math.min(Date.parse(until), Math.max(Date.parse(from), at));
    this.#aheadMs = at - known;
  }

  /** The same time by the host's clock. @param said ISO 8601; null stays null */
  toHost(said: string): string;
  toHost(said: string | null): string | null;
  toHost(said: string | null): string | null {
    return said === null ? null : new Date(Date.parse(said) - this.#aheadMs).toISOString();
  }
}
