import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import { insisting } from './insisting.ts';

/** What became of what was asked for: `done`, or the code that says why not. */
export type Outcome = string;

/** What is waited for at most, by the API; what takes longer is asked for again. */
export const WAIT = { waitSeconds: 60 };
/** Longer than any of its steps with all of their retries. Milliseconds. */
export const PATIENCE_MS = 240_000;
const PAUSE_MS = 100;
const UNDER_WAY = /^(?:requested|creating|destroying|deleting|restoring|baking|preparing)$/;

/** Repeats a request until it is answered. @param key of it, so that it has one effect */
export function ask<T>(
  send: (options: { idempotencyKey: string } & typeof WAIT) => Promise<T>,
  key: string = randomUUID(),
): Promise<T> {
  return insisting(() => send({ ...WAIT, idempotencyKey: key }), PATIENCE_MS);
}

/** Thrown to be asked again. */
export const NOT_YET = {
  type: '',
  title: 'not yet',
  status: 503,
  code: 'host_unavailable',
  retryable: true,
} as const;

/** `done` when the answer is the wanted one; else it, or the code of the refusal. What is still under way is asked for again. */
export async function outcomeOf(run: () => Promise<string>, wanted: string): Promise<Outcome> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(PAUSE_MS)) {
    try {
      const state = await run();
      if (UNDER_WAY.test(state) && Date.now() < deadline) continue;
      return state === wanted ? 'done' : state;
    } catch (error) {
      if (error instanceof MayflyApiError) return error.code;
      throw error;
    }
  }
}
