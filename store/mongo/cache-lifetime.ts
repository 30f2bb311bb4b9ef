import { setTimeout as sleep } from 'node:timers/promises';

/** Lifetime of what a process remembers of the store, ms. Every cache that requests are judged by has this one. */
export const CACHE_LIFETIME_MS = 250;
/** Timers may fire a little early, ms. */
const MARGIN_MS = 10;

/** Remembers what was read of the store. */
export class BriefCache<T> {
  #known: { at: number; value: Promise<T> } | null = null;

  constructor(private readonly read: () => Promise<T>) {}

  get(): Promise<T> {
    if (this.#known && performance.now() - this.#known.at < CACHE_LIFETIME_MS) return this.#known.value;
    const known = { at: performance.now(), value: this.read() };
    this.#known = known;
    known.value.catch(() => this.forget());
    return known.value;
  }

  forget(): void {
    this.#known = null;
  }
}

/**
 * Resolves when no process remembers what was before a change that is written. A request that changes what is cached is
 * answered after it, so its answer is true for the next request, whichever process serves that.
 */
export function awaitCacheExpiry(): Promise<void> {
  return sleep(CACHE_LIFETIME_MS + MARGIN_MS);
}
