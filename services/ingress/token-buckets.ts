/** Number of buckets above which full ones are removed. */
const FEW = 1_000;

/** Token bucket per name, with a capacity of one second's tokens. Full buckets are removed. */
export class TokenBuckets {
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor(private readonly perSecond: number) {}

  /** Number of buckets. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Returns false when the bucket is empty. */
  take(name: string): boolean {
    if (this.size > FEW) this.forgetFull();
    const left = this.#remaining(name);
    if (left < 1) return false;
    this.#buckets.set(name, { left: left - 1, at: performance.now() });
    return true;
  }

  release(name: string): void {
    this.#buckets.set(name, { left: this.#remaining(name) + 1, at: performance.now() });
  }

  forgetFull(): void {
    for (const name of this.#buckets.keys()) if (this.#remaining(name) >= this.perSecond) this.#buckets.delete(name);
  }

  #remaining(name: string): number {
    const bucket = this.#buckets.get(name);
    if (!bucket) return this.perSecond;
    return Math.min(this.perSecond, bucket.left + ((performance.now() - bucket.at) * this.perSecond) / 1_000);
  }
}
