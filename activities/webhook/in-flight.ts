/** Of one endpoint, at once. */
const MOST = 10;
/** Of one that failed last. */
const MOST_FAILING = 2;
/** Milliseconds. */
const PAUSE = { first: 500, most: 60_000 } as const;

/** Requests that are under way, by their endpoint: one that hangs has a few, and all others theirs. */
export class InFlight {
  readonly #counts = new Map<string, { running: number; refused: number }>();

  /** @returns 0: it may begin, and is {@link ended}; else how long to wait before asking again, in milliseconds */
  begin(endpointId: string, isFailing: boolean): number {
    const count = this.#counts.get(endpointId) ?? { running: 0, refused: 0 };
    if (count.running >= (isFailing ? MOST_FAILING : MOST)) {
      count.refused += 1;
      return Math.min(PAUSE.most, PAUSE.first * (1 + count.refused / MOST)) * (0.5 + Math.random());
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
