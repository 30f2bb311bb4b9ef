/** Limit of concurrent requests per endpoint. */
const MAX_REQUESTS = 10;
/** Limit for an endpoint whose latest attempt failed. */
const MAX_WHEN_FAILING = 2;
/** Milliseconds. */
const PAUSE = { first: 500, most: 60_000 } as const;

/** Requests in progress per endpoint, limited so that a hanging endpoint does not delay others. */
export class InFlight {
  readonly #counts = new Map<string, { running: number; refused: number }>();

  /** @returns 0: it may start, and must call {@link ended}; else time to wait before the next try, ms */
  begin(endpointId: string, isFailing: boolean): number {
    const count = this.#counts.get(endpointId) ?? { running: 0, refused: 0 };
    if (count.running >= (isFailing ? MAX_WHEN_FAILING : MAX_REQUESTS)) {
      count.refused += 1;
      return Math.min(PAUSE.most, PAUSE.first * (1 + count.refused / MAX_REQUESTS)) * (0.5 + Math.random());
    }
    count.running += 1;
    this.#counts.set(endpointId, count);
    return 0;
  }

  ended(endpointId: string): void {
    const count = this.#counts.get(endpointId);
    if (!count) return;
    count.running -= 1;
    count.refused = 0;
    if (count.running === 0) this.#counts.delete(endpointId);
  }
}
