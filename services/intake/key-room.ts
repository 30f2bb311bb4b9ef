import type { Logger } from 'pino';
import { LIMITS } from '../../model/limits.ts';

/** So old what was counted of a key may be, and so many times longer than it took. Milliseconds. */
const KNOWN_MS = 10_000;
const TIMES_LONGER = 50;
/** So many of a key come to this process before it is counted: most keys have few, and are never. */
const COUNTED_AFTER = 100;
/** Of those that were not asked for lately the oldest are forgotten. */
const MOST_KEYS = 10_000;

interface Known {
  runs: number;
  /** How many have come since it was counted. */
  since: number;
  /** When it may be counted again. Milliseconds of the monotonic clock. */
  until: number;
}

/**
 * Whether as many runs of one key of a function are queued as may: so one of its keys does not fill the queue of all. Nobody waits
 * for a count: one key at a time is counted in the store, and of those alone of which much comes; meanwhile what this process
 * accepts is added. So several processes, or one that has just begun, may accept some more.
 */
export class KeyRoom {
  readonly #known = new Map<string, Known>();
  #isCounting = false;

  /** @param most `@default` what model/limits.ts says */
  constructor(
    private readonly logger: Logger,
    private readonly most: number = LIMITS.functions.queuedOfKey,
  ) {}

  /** @param count how many of it are queued, as the store has it */
  isFull(key: string, count: () => Promise<number>): boolean {
    const known = this.#of(key);
    const isFull = known.runs >= this.most;
    const isToCount = isFull || known.since >= COUNTED_AFTER;
    if (isToCount && !this.#isCounting && known.until < performance.now()) void this.#count(known, count);
    return isFull;
  }

  /** One more is queued. */
  add(key: string): void {
    const known = this.#of(key);
    known.runs += 1;
    known.since += 1;
  }

  #of(key: string): Known {
    const known = this.#known.get(key) ?? { runs: 0, since: 0, until: 0 };
    this.#known.delete(key);
    this.#known.set(key, known);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_KEYS) break;
      this.#known.delete(oldest);
    }
    return known;
  }

  /** Where it can't be counted what was known holds. */
  async #count(known: Known, count: () => Promise<number>): Promise<void> {
    this.#isCounting = true;
    const began = performance.now();
    try {
      known.runs = await count();
      known.since = 0;
    } catch (error) {
      this.logger.warn({ err: error }, 'what is queued of a key is counted again later');
    }
    known.until = performance.now() + Math.max(KNOWN_MS, (performance.now() - began) * TIMES_LONGER);
    this.#isCounting = false;
  }
}
