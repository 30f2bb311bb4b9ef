import type { Waiting } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';

/** So old what is known of a queue may be, and so many times longer than it takes to count it. Milliseconds. */
const KNOWN_MS = 10_000;
const TIMES_LONGER = 50;
/** Of those that were not asked for lately the oldest are forgotten. */
const MOST = 10_000;

interface Known extends Waiting {
  /** When it is counted again. Milliseconds since 1970. */
  until: number;
  isCounting: boolean;
}

/**
 * Whether as many runs of a project wait as may, or their events have as many bytes. It is counted in the store every ten
 * seconds, and more seldom when that takes long; meanwhile what this process accepts is added. So several processes, or a
 * first burst, may accept some more.
 */
export class QueueRoom {
  readonly #known = new Map<string, Known>();

  /** @param most `@default` what model/limits.ts says */
  constructor(
    private readonly most: Waiting = { runs: LIMITS.functions.queued, bytes: LIMITS.functions.queuedBytes },
  ) {}

  /** @param count how many of a project wait, as the store has it */
  async isFull(project: string, count: () => Promise<Waiting>): Promise<boolean> {
    const known = this.#known.get(project);
    if (!known) {
      const { runs, bytes } = await this.#counted(project, count);
      return this.#isBeyond({ runs, bytes });
    }
    if (known.until < Date.now() && !known.isCounting) {
      known.isCounting = true;
      // Who comes meanwhile is told by what was known; a store that can't be asked refuses the event itself.
      this.#counted(project, count).catch(() => (known.isCounting = false));
    }
    return this.#isBeyond(known);
  }

  /** One more waits. */
  add(project: string, bytes: number): void {
    const known = this.#known.get(project);
    if (!known) return;
    known.runs += 1;
    known.bytes += bytes;
  }

  #isBeyond({ runs, bytes }: Waiting): boolean {
    return runs >= this.most.runs || bytes >= this.most.bytes;
  }

  async #counted(project: string, count: () => Promise<Waiting>): Promise<Waiting> {
    const began = Date.now();
    const waiting = await count();
    const took = Date.now() - began;
    this.#known.delete(project);
    this.#known.set(project, {
      ...waiting,
      until: Date.now() + Math.max(KNOWN_MS, took * TIMES_LONGER),
      isCounting: false,
    });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST) break;
      this.#known.delete(oldest);
    }
    return waiting;
  }
}
