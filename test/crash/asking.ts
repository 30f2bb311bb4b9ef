import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import { insisting } from './insisting.ts';

/** Result of an act: `done`, or the error code. */
export type Outcome = string;

/** Wait of one request; longer operations are polled. */
export const WAIT = { waitSeconds: 60 };
/** Longer than any step with all its retries, ms. */
export const PATIENCE_MS = 240_000;
const PAUSE_MS = 100;
const UNDER_WAY = /^(?:requested|creating|destroying|deleting|restoring|baking|preparing)$/;

/** Repeats a request until it is answered. @param key idempotency key */
export function ask<T>(
  send: (options: { idempotencyKey: string } & typeof WAIT) => Promise<T>,
  key: string = randomUUID(),
): Promise<T> {
  return insisting(() => send({ ...WAIT, idempotencyKey: key }), PATIENCE_MS);
}

/** Problem to throw for a retry. */
export const NOT_YET = {
  type: '',
  title: 'not yet',
  status: 503,
  code: 'host_unavailable',
  retryable: true,
} as const;

/**
 * Returns `done` for the wanted state; else the state, or the code of the refusal. Repeats while the work is
 * unfinished.
 */
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
