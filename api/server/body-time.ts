import type { IncomingMessage } from 'node:http';
import { hasStreamedBody } from '../http/streamed-body.ts';

/**
 * Bounds how long a request's body may take, so that who sends none holds no connection. The content of a file takes as long as
 * it takes, and a relay ends one that stalls; what is left of one that was answered early is not waited for (@hono/node-server).
 * @param late is called once when the body has not come in that time, milliseconds
 */
export function boundBody(incoming: IncomingMessage, bodyMs: number, late: () => void): void {
  if (hasStreamedBody(incoming.url ?? '')) return;
  const timer = setTimeout(() => incoming.complete || late(), bodyMs);
  for (const event of ['end', 'close']) incoming.once(event, () => clearTimeout(timer));
}
