import { setTimeout as sleep } from 'node:timers/promises';

/** Lifetime of a process's cache of the store, ms. Every cache that decides about requests uses it. */
export const CACHE_LIFETIME_MS = 250;
/** Timers may fire a little early, ms. */
const MARGIN_MS = 10;

/** Caches a value read from the store. */
export class TtlCache<T> {
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
 * Resolves when no process caches the state before a written change. Requests that change cached data are answered
 * after that, so that the next request sees the change in every process.
 */
export function awaitCacheExpiry(): Promise<void> {
  return sleep(CACHE_LIFETIME_MS + MARGIN_MS);
}
