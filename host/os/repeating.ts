/**
 * Repeats an async task without overlap. @param run never rejects; it stops when the signal fires @param pauseMs from
 * one end to the next start @param isNow false: the first run is after a pause @returns stops it, and resolves when
 * nothing runs
 */
export function setIntervalAsync(
  run: (signal: AbortSignal) => Promise<void>,
  pauseMs: number,
  isNow = true,
): () => Promise<void> {
  const stopped = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const begin = () => {
    running = run(stopped.signal).finally(() => {
      if (!stopped.signal.aborted) timer = setTimeout(begin, pauseMs);
    });
  };
  if (isNow) begin();
  else timer = setTimeout(begin, pauseMs);
  return async () => {
    stopped.abort();
    clearTimeout(timer);
    await running;
  };
}
