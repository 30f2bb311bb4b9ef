import type { Context } from 'hono';
import { type WaitLimit, waitWithin } from '../../services/waiting.ts';
import type { Env } from './context.ts';
import { preferenceOf } from './prefer.ts';

/** Returns a limit of so many seconds, less those that the caller has waited for an approval. */
export function waitLimit(c: Context<Env>, seconds: number): WaitLimit {
  const { signal } = c.req.raw;
  return { seconds: seconds - (c.get('waitedSeconds') ?? 0), signal, requestId: c.get('requestId') };
}

/** Returns the limit that the caller prefers. */
export function preferredWait(c: Context<Env>): WaitLimit {
  return waitLimit(c, preferenceOf(c.req.header('prefer')).seconds);
}

/** Waits as long as the caller prefers. @returns whether `wait` resolved */
export function waitAsPreferred(c: Context<Env>, wait: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
  return waitWithin(c.get('deps'), preferredWait(c), wait);
}
