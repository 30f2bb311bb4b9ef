import type { Context } from 'hono';
import type { Env } from '../http/context.ts';

const SECONDS = 60;

/**
 * Answers who asks whether events may be sent (CloudEvents, "HTTP 1.1 Web Hooks" §4.2). Who may not, and who asks at a hook
 * that is not there, is told the methods alone.
 * @param allowed origins; `*`: any
 */
export function handshakeHeaders(
  c: Context<Env>,
  allowed: readonly string[],
  requestsPerSecond: number,
): Record<string, string> {
  const methods = { Allow: 'OPTIONS, POST' };
  const origin = c.req.header('WebHook-Request-Origin');
  if (origin === undefined || !(allowed.includes('*') || allowed.includes(origin))) return methods;
  return {
    ...methods,
    'WebHook-Allowed-Origin': origin,
    'WebHook-Allowed-Rate': String(requestsPerSecond * SECONDS),
  };
}
