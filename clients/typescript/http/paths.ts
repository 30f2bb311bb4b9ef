import { LIMITS } from '../../../model/limits.ts';

/**
 * undici, which is Node's fetch, gives up on an answer whose headers take 300 s (its `headersTimeout` default), so
 * one request never waits longer than this. Seconds.
 */
const LONGEST_WAIT_SECONDS = 240;

export function sandboxPath(id: string): string {
  return `/v1/sandboxes/${encodeURIComponent(id)}`;
}

/** How long the API may hold its answer back. */
export function prefer(waitSeconds: number = LIMITS.waitSeconds.default): Record<string, string> {
  return { prefer: `wait=${Math.min(Math.max(0, Math.trunc(waitSeconds)), LONGEST_WAIT_SECONDS)}` };
}
