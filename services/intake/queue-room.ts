import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { countedBytes, isLargeEvent, type Waiting } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';

/** So old what is known of a queue may be, and so many times longer than it takes to count it. Milliseconds. */
const KNOWN_MS = 10_000;
const TIMES_LONGER = 50;
/** So long an event waits for the first count of its project; then it is taken. Milliseconds. */
const FIRST_MS = 200;

interface Known extends Waiting {
  /** When it is counted again. Milliseconds since 1970. */
  until: number;
  /** Null: it is not being counted. Never fails. */
  counting: Promise<void> | null;
}

/**
 * Whether as many runs of a project wait as may, or their events have as many bytes. It is counted in the store every ten
 * seconds, and more seldom when that takes long, by one at a time; meanwhile what this process accepts is added. So several
 * processes, or a first burst, may accept some more.
 */
export class QueueRoom {
  readonly #known = new Map<string, Known>();

  /** @param most `@default` what model/limits.ts says */
  constructor(
    private readonly logger: Logger,
    private readonly most: Waiting = { runs: LIMITS.functions.queued, bytes: LIMITS.functions.queuedBytes },
  ) {}

  /** @param count how many of a project wait, as the store has it */
  async isFull(project: string, count: () => Promise<Waiting>): Promise<boolean> {
    const present = this.#known.get(project);
    const known = present ?? { runs: 0, bytes: 0, until: 0, counting: null };
    if (!present) this.#known.set(project, known);
    if (known.until < performance.now()) known.counting ??= this.#count(known, count);
    if (known.until === 0) await Promise.race([known.counting, sleep(FIRST_MS)]);
    return known.runs >= this.most.runs || known.bytes >= this.most.bytes;
  }

  /** One more waits. */
  add(project: string, eventBytes: number): void {
    const known = this.#known.get(project);
    if (!known) return;
    known.runs += 1;
    known.bytes += countedBytes(1, isLargeEvent(eventBytes) ? eventBytes : 0);
  }

  /** Where it can't be counted what was known holds: a store that can't be asked refuses the event itself. */
  async #count(known: Known, count: () => Promise<Waiting>): Promise<void> {
    const began = performance.now();
    try {
      Object.assign(known, await count());
    } catch (error) {
      this.logger.warn({ err: error }, 'what waits is counted again later');
    }
    known.until = performance.now() + Math.max(KNOWN_MS, (performance.now() - began) * TIMES_LONGER);
    known.counting = null;
  }
}
