import { Closers } from './config/closers.ts';

/**
 * Time limits of a process's shutdown, from its request, ms. Cutting it off is safe at any instruction: Temporal
 * retries a cut step on the next worker, the process's programs end with it, and records and files are written
 * atomically.
 */
export const STOP_MS = {
  /** Grace period of running steps; then they are cancelled. */
  grace: 2_000,
  /** Time after which open resources are reported. */
  say: 5_000,
  /** Time from the last close until the process exits despite remaining work. */
  leave: 500,
  /** Time after which the process exits unconditionally. */
  end: 10_000,
};

interface StopWatchOptions {
  /** Aborted when the process must stop; it may also stop on its own. */
  signal: AbortSignal;
  say: (line: string) => void;
  /** Exits at once, as a process that had to be killed. */
  end: () => void;
  /** Exits at once, as a process that has stopped. */
  leave: () => void;
  /** `@default` {@link STOP_MS} */
  times?: Pick<typeof STOP_MS, 'say' | 'leave' | 'end'>;
}

/** Keeps a stopping process from hanging: in closing its resources, or on any it never closed. */
export class ShutdownWatchdog {
  /** Closers of everything that the process opens. */
  readonly closers = new Closers(
    () => this.#begin(),
    () => this.#exitAfterClose(),
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
    // Neither timer keeps the process alive: it exits before them when nothing else does.
    setTimeout(() => say(`still open after ${seconds(times.say)}: ${this.#stillOpen()}`), times.say).unref();
    setTimeout(() => {
      say(`ended after ${seconds(times.end)}, although still open: ${this.#stillOpen()}`);
      end();
    }, times.end).unref();
  }

  /** Exits despite unawaited work, such as a step that ignored its cancel. */
  #exitAfterClose(): void {
    const { leave, times = STOP_MS } = this.#options;
    setTimeout(leave, times.leave).unref();
  }

  #stillOpen(): string {
    return `${this.closers.names.join(', ') || 'none of its parts'}; Node waits for ${describeActiveResources() || 'nothing'}`;
  }
}

/** Lists what keeps Node's event loop alive, by kind. */
function describeActiveResources(): string {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => (count === 1 ? kind : `${count} ${kind}`)).join(', ');
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
