import { createMiddleware } from 'hono/factory';
import { matchedRoutes } from 'hono/route';
import { MayflyError } from '../../model/errors.ts';
import type { App, Env } from './context.ts';

/**
 * Tells a path that exists, but not for this method, from one that does not exist. The table of routes is made at the
 * first request, when all are known.
 * @throws MayflyError method_not_allowed
 */
export function refuseUnknownMethod(app: App) {
  let routes: { method: string; pattern: RegExp }[] | undefined;
  return createMiddleware<Env>(async (c, next) => {
    if (matchedRoutes(c).at(-1)?.method !== 'ALL') return next();
    routes ??= app.routes
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => ({ method, pattern: patternOf(path) }));
    const allowed = new Set(routes.filter(({ pattern }) => pattern.test(c.req.path)).map(({ method }) => method));
    if (allowed.has('GET')) allowed.add('HEAD');
    if (allowed.size === 0 || allowed.has(c.req.method)) return next();
    const list = [...allowed].sort().join(', ');
    c.header('Allow', list);
    throw new MayflyError('method_not_allowed', `This path takes ${list}.`);
  });
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`);
}
