import { isMayflyError } from '../model/errors.ts';
import type { ServiceDeps } from './service-deps.ts';

/** Limit of a caller's wait for a workflow. */
export interface WaitLimit {
  /** 0 or less: no wait. */
  seconds: number;
  /** Fires when the caller disconnects. */
  signal: AbortSignal;
  requestId: string;
}

/**
 * Waits for a workflow until it is done, the limit passes, the caller disconnects or Temporal becomes unavailable.
 * Only the wait ends, never the workflow: its progress is in the record.
 * @returns true when `wait` resolved
 */
export async function waitWithin(
  { logger }: Pick<ServiceDeps, 'logger'>,
  { seconds, signal: caller, requestId }: WaitLimit,
  wait: (signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  if (seconds <= 0) return false;
  const waiting = new AbortController();
  const stop = () => waiting.abort();
  // Not AbortSignal.any with AbortSignal.timeout: Node 20 may garbage-collect both before they fire.
  const timer = setTimeout(stop, seconds * 1_000);
  caller.addEventListener('abort', stop, { once: true });
  if (caller.aborted) stop();
  try {
    await wait(waiting.signal);
    return true;
  } catch (error) {
    if (waiting.signal.aborted) return false;
    if (!isMayflyError(error, 'temporal_unavailable')) throw error;
    logger.warn({ err: error, requestId }, 'Temporal is unavailable: the wait for a workflow ends');
    return false;
  } finally {
    clearTimeout(timer);
    caller.removeEventListener('abort', stop);
  }
}
