/** So many names are not looked through for full buckets. */
const FEW = 1_000;

/** A token bucket for each name: it fills by so many a second, and holds what it gets in one. One that is full is forgotten. */
export class TokenBuckets {
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor(private readonly perSecond: number) {}

  /** Of buckets that are not full. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Returns false when the bucket is empty. */
  take(name: string): boolean {
    if (this.size > FEW) this.forgetFull();
    const left = this.#left(name);
    if (left < 1) return false;
    this.#buckets.set(name, { left: left - 1, at: performance.now() });
    return true;
  }

  release(name: string): void {
    this.#buckets.set(name, { left: this.#left(name) + 1, at: performance.now() });
  }

  forgetFull(): void {
    for (const name of this.#buckets.keys()) if (this.#left(name) >= this.perSecond) this.#buckets.delete(name);
  }

  #left(name: string): number {
    const bucket = this.#buckets.get(name);
    if (!bucket) return this.perSecond;
    return Math.min(this.perSecond, bucket.left + ((performance.now() - bucket.at) * this.perSecond) / 1_000);
  }
}
