import { setTimeout as sleep } from 'node:timers/promises';
import { isMayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Runs } from '../../store/functions/runs.ts';

export type Awaited = 'ended' | 'clean';

interface Waiter {
  until: Awaited;
  resolve: () => void;
  reject: (cause: unknown) => void;
}

/** Minimum interval between two polls, ms; slow polls are further apart. */
const POLL_MS = 40;
/** Limit of runs per poll. */
const AT_ONCE = 1_000;

/** Waits for the ends of runs, for all callers in one process: one poll of the store covers all of them. */
export class RunWatch {
  readonly #waiting = new Map<string, Set<Waiter>>();
  #isLooking = false;

  constructor(private readonly runs: Pick<Runs, 'ends'>) {}

  /**
   * Resolves when the run has ended, or is cleaned up as well (`until`); at once for a missing run. Waits on while the
   * store is unavailable.
   * @throws the reason of the signal
   */
  async until(id: string, until: Awaited, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, ...settle } = withResolvers();
    const waiter: Waiter = { until, ...settle };
    const of = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, of.add(waiter));
    const leave = () => waiter.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    if (!this.#isLooking) void this.#look();
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', leave);
      of.delete(waiter);
      if (of.size === 0 && this.#waiting.get(id) === of) this.#waiting.delete(id);
    }
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    while (this.#waiting.size > 0) {
      const began = performance.now();
      const ids = [...this.#waiting.keys()];
      for (let n = 0; n < ids.length; n += AT_ONCE) await this.#pollOnce(ids.slice(n, n + AT_ONCE));
      await sleep(Math.max(POLL_MS, performance.now() - began));
    }
    this.#isLooking = false;
  }

  /** Polls once. Waiters that arrive in between are resolved by the next poll. */
  async #pollOnce(ids: string[]): Promise<void> {
    const asked = ids.map((id) => [id, [...(this.#waiting.get(id) ?? [])]] as const);
    try {
      const ends = await this.runs.ends(ids);
      for (const [id, waiters] of asked) {
        const run = ends.get(id);
        for (const each of waiters) if (!run || isOver(run, each.until)) each.resolve();
      }
    } catch (error) {
      if (isMayflyError(error, 'store_unavailable')) return;
      for (const [, waiters] of asked) for (const each of waiters) each.reject(error);
    }
  }
}

export function isOver({ state, cleanup }: Pick<RunRecord, 'state' | 'cleanup'>, until: Awaited): boolean {
  return state === 'ended' && (until === 'ended' || cleanup !== 'pending');
}

/** Replaces Promise.withResolvers, which Node 20 lacks. */
function withResolvers() {
  let [resolve, reject]: [() => void, (cause: unknown) => void] = [() => undefined, () => undefined];
  const promise = new Promise<void>((done, failed) => {
    [resolve, reject] = [done, failed];
  });
  return { promise, resolve, reject };
}
