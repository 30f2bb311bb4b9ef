import { createMiddleware } from 'hono/factory';
import type { Env } from './context.ts';

/** Hono answers HEAD as GET and drops the body: who fills it is told, or an event stream would wait for its reader for ever. */
export const dropBodyOfHead = createMiddleware<Env>(async (c, next) => {
  await next();
  if (c.req.method === 'HEAD') await c.res.body?.cancel();
});
