import { MayflyDeadlineError } from './problem.ts';

export interface CallOptions {
  signal?: AbortSignal;
  /**
   * After which a call that may be sent again is given up, with all its attempts and what they wait for. What reads or sends
   * content, and what is sent once only, ends with `signal` alone. Seconds. `@default` the client's
   */
  deadlineSeconds?: number;
}

/** A timer that is longer fires at once: setTimeout counts in 31 bits. Milliseconds. */
const LONGEST_TIMER_MS = 2_147_483_647;

/**
 * Calls back when a time is over, however long it is.
 * @returns what has it not be called
 */
function afterSeconds(seconds: number, over: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const wait = (leftMs: number): void => {
    const ms = Math.min(leftMs, LONGEST_TIMER_MS);
    timer = setTimeout(() => (leftMs > ms ? wait(leftMs - ms) : over()), ms);
  };
  wait(seconds * 1_000);
  return () => clearTimeout(timer);
}

/**
 * Does something until its time is over.
 * @throws MayflyDeadlineError then; what `act` throws otherwise, which is the signal's reason where that is aborted
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
