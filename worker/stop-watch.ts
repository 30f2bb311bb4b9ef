import { Closers } from './config/closers.ts';

/**
 * What the stop of a process may take, from the wish on. Milliseconds. Cutting it off is safe: whatever a process of ours
 * does may be killed at any instruction. Sagas are Temporal's, which has a cut step done again by the next worker; its
 * programs end with it; records and files are written whole or not at all.
 */
export const STOP_MS = {
  /** Steps under way may get to their end for so long; then they are told to give up. */
  grace: 2_000,
  /** Then it is said what is still open. */
  say: 5_000,
  /** From the moment when all is closed until the process ends, though something in it goes on. */
  leave: 500,
  /** Then the process ends, whatever is. */
  end: 10_000,
};

interface StopWatchOptions {
  /** Aborted when the process is asked to stop; it may also begin to stop by itself. */
  signal: AbortSignal;
  say: (line: string) => void;
  /** Ends the process at once, as one that had to be ended. */
  end: () => void;
  /** Ends the process at once, as one that has stopped. */
  leave: () => void;
  /** `@default` {@link STOP_MS} */
  times?: Pick<typeof STOP_MS, 'say' | 'leave' | 'end'>;
}

/** Lets no process of ours hang when it stops: neither in closing what it has opened, nor on what nobody closed. */
export class StopWatch {
  /** Of all that the process opens. */
  readonly closers = new Closers(
    () => this.#begin(),
    () => this.#closed(),
  );
  readonly #options: StopWatchOptions;
  #hasBegun = false;

  constructor(options: StopWatchOptions) {
    this.#options = options;
    if (options.signal.aborted) this.#begin();
    else options.signal.addEventListener('abort', () => this.#begin(), { once: true });
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { say, end, times = STOP_MS } = this.#options;
    // Neither timer holds the process itself: it ends before them when nothing else does.
    setTimeout(() => say(`still open after ${seconds(times.say)}: ${this.#stillOpen()}`), times.say).unref();
    setTimeout(() => {
      say(`ended after ${seconds(times.end)}, although still open: ${this.#stillOpen()}`);
      end();
    }, times.end).unref();
  }

  /** What nobody waits for, as a step that was handed back and goes on, does not hold the process. */
  #closed(): void {
    const { leave, times = STOP_MS } = this.#options;
    setTimeout(leave, times.leave).unref();
  }

  #stillOpen(): string {
    return `${this.closers.names.join(', ') || 'none of its parts'}; Node waits for ${awaited() || 'nothing'}`;
  }
}

/** What keeps Node's event loop going, by kind. */
function awaited(): string {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => (count === 1 ? kind : `${count} ${kind}`)).join(', ');
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
