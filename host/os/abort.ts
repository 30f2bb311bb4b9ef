/** Waits for `work`, or until the signal fires; what `work` does goes on. @throws the signal's reason */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
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

/** Does something with a signal that fires with `late()` once the time is over, and always as `signal` does. */
export async function within<T>(
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
