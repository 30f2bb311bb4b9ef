import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyApiError, MayflyConnectionError } from './api-error.ts';

/** Attempts at one request, the first included. */
const MAX_ATTEMPTS = 4;
/** Wait before the second attempt; doubles with each one. Milliseconds. */
const FIRST_DELAY_MS = 200;
/** A longer `Retry-After` than this is for the caller to decide about. Seconds. */
const MAX_RETRY_AFTER_SECONDS = 30;

/**
 * Whether to send the same request again. A saga's own failure carries the sandbox's id: it is the recorded answer
 * to this idempotency key, so the same request can only get it again.
 */
function mayRepeat(error: unknown): boolean {
  if (error instanceof MayflyConnectionError) return true;
  if (!(error instanceof MayflyApiError) || error.problem.sandboxId !== undefined) return false;
  return error.retryable && (error.retryAfterSeconds ?? 0) <= MAX_RETRY_AFTER_SECONDS;
}

function delayMs(error: unknown, attempt: number): number {
  if (error instanceof MayflyApiError && error.retryAfterSeconds !== null) return error.retryAfterSeconds * 1_000;
  const full = FIRST_DELAY_MS * 2 ** (attempt - 1);
  return full / 2 + Math.random() * (full / 2);
}

/**
 * Sends a request up to four times, waiting as `Retry-After` says, else 100-200 ms and twice as long each time.
 * @param endsAt when nobody waits for it any more: what could only be tried then is not waited for
 * @throws what the last attempt threw, or the signal's reason
 */
export async function withRetries<T>(send: () => Promise<T>, signal: AbortSignal, endsAt: number): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      signal.throwIfAborted();
      const delay = delayMs(error, attempt);
      if (attempt >= MAX_ATTEMPTS || !mayRepeat(error) || Date.now() + delay >= endsAt) throw error;
      await sleep(delay, undefined, { signal }).catch((cause: unknown) => {
        signal.throwIfAborted();
        throw cause;
      });
    }
  }
}
