import { readFileSync } from 'node:fs';
import type { MiddlewareHandler } from 'hono';
import type { Env } from '../../api/http/context.ts';

/** Processor time that a request may take at a stretch, while no other is answered. Milliseconds. */
const LONGEST_TURN_MS = 250;
/** How often the loop of events is looked at while there are requests. Milliseconds. */
const EVERY_MS = 20;

/** Processor time of this thread, which a busy machine makes no longer. Milliseconds. */
function threadMs(): number {
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6; // nanoseconds: sched-stats
}

/** Finds requests that keep the API's thread for themselves. */
export class Watchdog {
  readonly #present = new Set<{ longestMs: number }>();
  #slow: string[] = [];
  #before = 0;
  #timer: NodeJS.Timeout | undefined;

  readonly middleware: MiddlewareHandler<Env> = async (c, next) => {
    const request = { longestMs: 0 };
    this.#look();
    this.#present.add(request);
    this.#timer ??= setInterval(() => this.#look(), EVERY_MS).unref();
    try {
      await next();
    } finally {
      this.#look();
      this.#present.delete(request);
      if (this.#present.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
      if (request.longestMs > LONGEST_TURN_MS) {
        this.#slow.push(`${c.req.method} ${c.req.path} kept the thread for ${Math.round(request.longestMs)} ms`);
      }
    }
  };

  /** @throws Error that names the requests which took too long since it was asked before */
  check(): void {
    const slow = this.#slow;
    this.#slow = [];
    if (slow.length > 0) throw new Error(slow.join('\n'));
  }

  /** Whatever ran since the look before was one turn of the loop, or the timer would have come between. */
  #look(): void {
    const now = threadMs();
    const turnMs = now - this.#before;
    this.#before = now;
    for (const request of this.#present) request.longestMs = Math.max(request.longestMs, turnMs);
  }
}
