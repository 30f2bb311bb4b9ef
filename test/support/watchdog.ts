import { readFileSync } from 'node:fs';
import type { MiddlewareHandler } from 'hono';
import type { Env } from '../../api/http/context.ts';

/** Longest CPU time of a request without a break, during which no other is answered, ms. */
const LONGEST_TURN_MS = 250;
/** Interval between two checks of the event loop during requests, ms. */
const EVERY_MS = 20;

/** Returns CPU time of this thread, ms, which is independent of other load. */
function threadMs(): number {
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6; // nanoseconds, by sched-stats
}

/** Detector of requests that block the API's thread. */
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

  /** @throws Error that names the slow requests since the last check */
  check(): void {
    const slow = this.#slow;
    this.#slow = [];
    if (slow.length > 0) throw new Error(slow.join('\n'));
  }

  /** Measures the time since the last check: one turn of the event loop, or the timer would have run in between. */
  #look(): void {
    const now = threadMs();
    const turnMs = now - this.#before;
    this.#before = now;
    for (const request of this.#present) request.longestMs = Math.max(request.longestMs, turnMs);
  }
}
