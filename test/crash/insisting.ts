import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyApiError, MayflyConnectionError } from '../../clients/typescript/http/problem.ts';

const PAUSE_MS = 100;

/** Retries a request with one idempotency key until its final answer. @throws the final refusal, or the last error */
export async function insisting<T>(send: () => Promise<T>, withinMs: number): Promise<T> {
  for (const deadline = Date.now() + withinMs; ; await sleep(PAUSE_MS)) {
    try {
      return await send();
    } catch (error) {
      if (!isPassing(error) || Date.now() > deadline) throw error;
    }
  }
}

/** Final codes: only a change of the system makes a retry succeed. */
const ANSWERS: ReadonlySet<string> = new Set(['bake_failed', 'capacity_exhausted', 'host_alive']);

/** Reports whether to retry; the failure of a saga, which names its sandbox, is final. */
function isPassing(error: unknown): boolean {
  if (error instanceof MayflyConnectionError) return true;
  if (!(error instanceof MayflyApiError) || error.problem.sandboxId !== undefined) return false;
  return error.retryable && !ANSWERS.has(error.code);
}
