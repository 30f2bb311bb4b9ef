import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Waiting } from '../../model/functions/run.ts';

/** Age of a count, and how many times longer than it took. Milliseconds. */
const KNOWN_MS = 10_000;
const TIMES_LONGER = 50;
/** Longest wait for the first count; then the event is taken. Milliseconds. */
const FIRST_MS = 200;
/** Backlogs that are known; the ones that were not asked for lately are forgotten first. */
const MOST_KNOWN = 10_000;

interface Known extends Waiting {
  /** Runs that this process accepted since the count. */
  accepted: number;
  /** When it may be counted again, milliseconds of the monotonic clock; 0: it never was. */
  until: number;
  /** Null: it is not being counted. Never fails. */
  counting: Promise<void> | null;
}

interface BacklogLimitOptions {
  most: Waiting;
  /** Accepted runs before a backlog is counted: then one is counted at a time. `@default` 0: each is counted at once */
  countedAfter?: number;
}

/**
 * Limit of backlogs, such as those of projects. They are counted in the store every ten seconds, and more seldom when that takes
 * long; meanwhile what this process accepts is added. So several processes, or a first burst, may accept some more.
 */
export class BacklogLimit {
  readonly #known = new Map<string, Known>();
  #counts = 0;

  constructor(
    private readonly logger: Logger,
    private readonly options: BacklogLimitOptions,
  ) {}

  /** Returns at once. @param count reads the backlog from the store */
  isFull(backlog: string, count: () => Promise<Waiting>): boolean {
    const { most, countedAfter = 0 } = this.options;
    const known = this.#get(backlog);
    const isFull = known.runs >= most.runs || known.bytes >= most.bytes;
    const isDue = known.until < performance.now() && (isFull || known.accepted >= countedAfter);
    if (isDue && (countedAfter === 0 || this.#counts === 0)) known.counting ??= this.#count(known, count);
    return isFull;
  }

  /** Waits briefly for the first count. */
  async isFullOnceCounted(backlog: string, count: () => Promise<Waiting>): Promise<boolean> {
    const isFull = this.isFull(backlog, count);
    const { until, counting } = this.#get(backlog);
    if (until > 0 || !counting) return isFull;
    await Promise.race([counting, sleep(FIRST_MS)]);
    return this.isFull(backlog, count);
  }

  /** Adds one run. @param bytes of its event, as they are counted */
  add(backlog: string, bytes = 0): void {
    const known = this.#get(backlog);
    known.runs += 1;
    known.bytes += bytes;
    known.accepted += 1;
  }

  #get(backlog: string): Known {
    const known = this.#known.get(backlog) ?? { runs: 0, bytes: 0, accepted: 0, until: 0, counting: null };
    this.#known.delete(backlog);
    this.#known.set(backlog, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  /** A failed count changes nothing: a store that does not answer refuses the event itself. */
  async #count(known: Known, count: () => Promise<Waiting>): Promise<void> {
    this.#counts += 1;
    const began = performance.now();
    try {
      Object.assign(known, await count(), { accepted: 0 });
    } catch (error) {
      this.logger.warn({ err: error }, 'a backlog could not be counted; retry later');
    }
    known.until = performance.now() + Math.max(KNOWN_MS, (performance.now() - began) * TIMES_LONGER);
    known.counting = null;
    this.#counts -= 1;
  }
}
