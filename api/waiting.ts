import type { Context } from 'hono';
import { MayflyError } from '../model/errors.ts';
import type { AppDeps, Env } from './context.ts';

/**
 * Waits for a saga, at most so long, and no longer than the caller listens. Only the waiting ends, never the saga:
 * how far it came is in the record. So a Temporal that goes away meanwhile ends the waiting too, and no more.
 */
export async function waitWithin(
  c: Context<Env>,
  { logger }: Pick<AppDeps, 'logger'>,
  seconds: number,
  wait: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  if (seconds === 0) return;
  const signal = AbortSignal.any([c.req.raw.signal, AbortSignal.timeout(seconds * 1_000)]);
  try {
    await wait(signal);
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof MayflyError) || error.code !== 'temporal_unavailable') throw error;
    logger.warn({ err: error, requestId: c.get('requestId') }, 'stopped waiting for a saga');
  }
}
