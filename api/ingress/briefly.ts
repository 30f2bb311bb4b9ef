import { CACHE_LIFETIME_MS } from '../../store/mongo/cache-lifetime.ts';

/** The longest ago read are forgotten first. */
const REMEMBERED = 10_000;

/** What was read a moment ago, by name, and is not read again: a page asks for a hundred things at once. What is not there may be there in a moment: that is not remembered. */
export class Briefly<T> {
  readonly #known = new Map<string, { at: number; read: Promise<T | null> }>();

  /** Whether it was there when it was read last, or is read now. */
  remembers(name: string): boolean {
    return this.#known.has(name);
  }

  async of(name: string, readNow: () => Promise<T | null>): Promise<T | null> {
    const before = this.#known.get(name);
    if (before && performance.now() - before.at < CACHE_LIFETIME_MS) return before.read;
    const entry = { at: performance.now(), read: readNow() };
    this.#known.delete(name);
    this.#known.set(name, entry);
    const [oldest] = this.#known.keys();
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
    const forget = () => void (this.#known.get(name) === entry && this.#known.delete(name));
    entry.read.then((known) => known ?? forget(), forget);
    return entry.read;
  }
}
