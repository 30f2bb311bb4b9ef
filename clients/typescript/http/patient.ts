import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyApiError, MayflyConnectionError } from './api-error.ts';
import type { CallOptions } from './transport.ts';

/** How long the API may stay away, such as while it is started anew. Seconds. */
const AWAY_SECONDS = 300;
const PAUSE_MS = 500;

/** Tells whether the same request can succeed later. */
export function isPassing(error: unknown): boolean {
  return error instanceof MayflyConnectionError || (error instanceof MayflyApiError && error.retryable);
}

/**
 * Repeats a read of what goes on without anybody watching, for as long as the API stays away.
 * @param options `deadlineSeconds`: `@default` 300
 * @throws what the last attempt threw, when that takes longer; the signal's reason
 */
export async function patiently<T>(
  read: () => Promise<T>,
  { signal, deadlineSeconds = AWAY_SECONDS }: CallOptions,
): Promise<T> {
  for (const endsAt = performance.now() + deadlineSeconds * 1_000; ; ) {
    try {
      return await read();
    } catch (error) {
      signal?.throwIfAborted();
      if (!isPassing(error) || performance.now() > endsAt) throw error;
      await sleep(PAUSE_MS, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}
