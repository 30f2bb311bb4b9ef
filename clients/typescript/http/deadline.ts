import { MayflyDeadlineError } from './problem.ts';

export interface CallOptions {
  signal?: AbortSignal;
  /**
   * Time after which a repeatable call is aborted, with all its attempts and waits, s. Calls that transfer content, or
   * are sent only once, end with `signal` alone. `@default` the client's
   */
  deadlineSeconds?: number;
}

/** Longest timer, ms. A longer one fires at once: setTimeout counts in 31 bits. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** Calls back after a time of any length. @returns a function that cancels the callback */
function afterSeconds(seconds: number, onTimeout: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const wait = (leftMs: number): void => {
    const ms = Math.min(leftMs, LONGEST_TIMER_MS);
    timer = setTimeout(() => (leftMs > ms ? wait(leftMs - ms) : onTimeout()), ms);
  };
  wait(seconds * 1_000);
  return () => clearTimeout(timer);
}

/**
 * Runs an action within a deadline.
 * @throws MayflyDeadlineError after that; otherwise errors of `act`, which are the signal's reason when that is aborted
 */
export async function withinDeadline<T>(
  seconds: number,
  signal: AbortSignal | undefined,
  act: (signal: AbortSignal, endsAt: number) => Promise<T>,
): Promise<T> {
  // Not AbortSignal.any with AbortSignal.timeout: Node 20 may collect both as garbage, and then they never fire.
  const over = new AbortController();
  const stop = afterSeconds(seconds, () => over.abort(new MayflyDeadlineError(seconds)));
  const passOn = () => over.abort(signal?.reason);
  signal?.addEventListener('abort', passOn, { once: true });
  if (signal?.aborted) passOn();
  try {
    return await act(over.signal, Date.now() + seconds * 1_000);
  } finally {
    stop();
    signal?.removeEventListener('abort', passOn);
  }
}
