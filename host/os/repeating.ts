/**
 * Never twice at a time. @param run never rejects; it leaves off when the signal fires @param pauseMs from one end to the
 * next begin @param isNow false: the first is after a pause @returns what stops it, and resolves when nothing runs
 */
export function repeating(
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
