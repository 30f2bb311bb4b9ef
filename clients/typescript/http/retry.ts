import { setTimeout as sleep } from 'node:timers/promises';
import type { CallOptions } from './deadline.ts';
import { MayflyApiError, MayflyConnectionError } from './problem.ts';

/** Attempts at one request, the first included. */
const MAX_ATTEMPTS = 4;
/** Wait before the second attempt; doubles with each one. Milliseconds. */
const FIRST_DELAY_MS = 200;
/** Longest `Retry-After` that is awaited, s; the caller decides about a longer one. */
const MAX_RETRY_AFTER_SECONDS = 30;

/**
 * Reports whether to send the same request again. A problem with a sandbox's id is the recorded answer to this
 * idempotency key, so the same request would only get it again.
 */
function canRepeat(error: unknown): boolean {
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
 * Sends a request up to four times, waiting as `Retry-After` requires, else 100-200 ms and twice as long each time.
 * @param endsAt deadline; an attempt after it is not awaited
 * @throws the error of the last attempt, or the signal's reason
 */
export async function withRetries<T>(send: () => Promise<T>, signal: AbortSignal, endsAt: number): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      signal.throwIfAborted();
      const delay = delayMs(error, attempt);
      if (attempt >= MAX_ATTEMPTS || !canRepeat(error) || Date.now() + delay >= endsAt) throw error;
      await sleep(delay, undefined, { signal }).catch((cause: unknown) => {
        signal.throwIfAborted();
        throw cause;
      });
    }
  }
}

/** Symbol of the dispatcher of undici, which is Node's fetch: a pool, or a proxy that the process has chosen. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/**
 * Returns options for an upload, which may take any time. undici waits 300 s for the head of an answer (its
 * `headersTimeout` default), counts from the start of the request, and aborts a body that is read slowly. Empty where
 * fetch is not undici's.
 */
export function withoutHeadersTimeout(): Pick<RequestInit, 'dispatcher'> {
  void globalThis.Headers; // loads undici, which is lazy
  const dispatcher: unknown = Reflect.get(globalThis, DISPATCHER);
  if (!isDispatcher(dispatcher)) return {};
  return {
    dispatcher: dispatcher.compose((dispatch) => (options, handler) => {
      return dispatch({ ...options, headersTimeout: 0 }, handler);
    }),
  };
}

function isDispatcher(value: unknown): value is NonNullable<RequestInit['dispatcher']> {
  return typeof value === 'object' && value !== null && 'compose' in value && typeof value.compose === 'function';
}

/** Time for which the API may be unavailable, such as during a restart, s. */
const UNAVAILABLE_SECONDS = 300;
const PAUSE_MS = 500;

/** Reports whether the same request can succeed later. */
export function isTransient(error: unknown): boolean {
  return error instanceof MayflyConnectionError || (error instanceof MayflyApiError && error.retryable);
}

/**
 * Retries a read of an unattended operation, for as long as the API is unavailable.
 * @param options `deadlineSeconds`: `@default` 300
 * @throws the error of the last attempt, after that time; the signal's reason
 */
export async function retryWhileUnavailable<T>(
  read: () => Promise<T>,
  { signal, deadlineSeconds = UNAVAILABLE_SECONDS }: CallOptions,
): Promise<T> {
  for (const endsAt = performance.now() + deadlineSeconds * 1_000; ; ) {
    try {
      return await read();
    } catch (error) {
      signal?.throwIfAborted();
      if (!isTransient(error) || performance.now() > endsAt) throw error;
      await sleep(PAUSE_MS, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}
