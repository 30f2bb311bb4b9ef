import type { Context } from 'hono';
import { isMayflyError } from '../../model/errors.ts';
import type { Env, RequestDeps } from './context.ts';
import { preferenceOf } from './prefer.ts';

/** Waits as long as the caller prefers, and says so. `@default` 60 s @returns whether what was waited for came */
export async function waitAsPreferred(c: Context<Env>, wait: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
  const { seconds, applied } = preferenceOf(c.req.header('prefer'));
  const isOver = await waitWithin(c, c.get('deps'), seconds, wait);
  if (applied) c.header('Preference-Applied', applied);
  return isOver;
}

/**
 * Waits for a saga, at most so long, and no longer than the caller listens. Only the waiting ends, never the saga:
 * how far it came is in the record. So a Temporal that goes away meanwhile ends the waiting too, and no more.
 * @returns whether what was waited for came
 */
export async function waitWithin(
  c: Context<Env>,
  { logger }: Pick<RequestDeps, 'logger'>,
  preferred: number,
  wait: (signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const seconds = preferred - (c.get('waitedSeconds') ?? 0);
  if (seconds <= 0) return false;
  const waiting = new AbortController();
  const stop = () => waiting.abort();
  // Not AbortSignal.any with AbortSignal.timeout: Node 20 may collect both as garbage, and then they never fire.
  const timer = setTimeout(stop, seconds * 1_000);
  const caller = c.req.raw.signal;
  caller.addEventListener('abort', stop, { once: true });
  if (caller.aborted) stop();
  try {
    await wait(waiting.signal);
    return true;
  } catch (error) {
    if (waiting.signal.aborted) return false;
    if (!isMayflyError(error, 'temporal_unavailable')) throw error;
    logger.warn({ err: error, requestId: c.get('requestId') }, 'stopped waiting for a saga');
    return false;
  } finally {
    clearTimeout(timer);
    caller.removeEventListener('abort', stop);
  }
}
