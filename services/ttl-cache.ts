import { CACHE_LIFETIME_MS } from '../store/mongo/cache-lifetime.ts';

interface Options {
  /** `@default` CACHE_LIFETIME_MS */
  ttlMs?: number;
  /** `@default` 10,000, then the oldest is evicted */
  maxEntries?: number;
}

/** Cache of results by key. Concurrent callers share one call; rejected and null results are not cached. */
export class TtlCache<T> {
  readonly #entries = new Map<string, { at: number; result: Promise<T> }>();

  constructor(private readonly options: Options = {}) {}

  /** Reports whether a result is cached, expired or not. */
  has(key: string): boolean {
    return this.#entries.has(key);
  }

  async get(key: string, load: () => Promise<T>): Promise<T> {
    const { ttlMs = CACHE_LIFETIME_MS, maxEntries = 10_000 } = this.options;
    const cached = this.#entries.get(key);
    if (cached && performance.now() - cached.at < ttlMs) return cached.result;
    const entry = { at: performance.now(), result: load() };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    const drop = () => void (this.#entries.get(key) === entry && this.#entries.delete(key));
    entry.result.then((result) => result === null && drop(), drop);
    return entry.result;
  }
}
