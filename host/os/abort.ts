import { setTimeout as sleep } from 'node:timers/promises';

/** Sleeps. @throws the signal's reason */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
}

/** Awaits both like Promise.all, but fails only when both have ended: nothing runs on behind a failed step. */
export async function allSettledOrThrow<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return await Promise.all([one, other]);
}

/** Waits for `work`, or until the signal fires; `work` itself continues. @throws the signal's reason */
export async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let onAbort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason);
  });
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Runs work that takes no signal, and calls `stop` when it fails or the signal fires. @throws the signal's reason */
export async function withAbort<T>(signal: AbortSignal, stop: () => void, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await work();
  } catch (error) {
    stop();
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Runs work with a signal that fires with `late()` at the timeout, and whenever `signal` does. */
export async function withTimeout<T>(
  ms: number,
  late: () => Error,
  signal: AbortSignal,
  work: (either: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(late()), ms);
  try {
    return await work(AbortSignal.any([over.signal, signal]));
  } catch (error) {
    over.signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
