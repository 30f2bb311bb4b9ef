import { MayflyDeadlineError } from './api-error.ts';

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
  const timer = setTimeout(() => over.abort(new MayflyDeadlineError(seconds)), seconds * 1_000);
  const passOn = () => over.abort(signal?.reason);
  signal?.addEventListener('abort', passOn, { once: true });
  if (signal?.aborted) passOn();
  try {
    return await act(over.signal, Date.now() + seconds * 1_000);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', passOn);
  }
}
