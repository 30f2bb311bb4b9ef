import { createMiddleware } from 'hono/factory';
import { MayflyError } from '../../model/errors.ts';
import type { Scope } from '../../model/scopes.ts';
import { grants } from '../../model/scopes.ts';
import type { Store } from '../../store/connect.ts';
import type { Env } from './context.ts';

/** The page and its parts. */
const DOCS = ['/docs', '/docs/page.js', '/docs/page.css', '/docs/swagger-ui.js', '/docs/swagger-ui.css'];
/** The only paths that answer without a key. */
const OPEN_PATHS = new Set(['/healthz', '/readyz', '/openapi.json', ...DOCS]);
const BEARER = /^Bearer +(\S+)$/i;

/**
 * Lets only holders of a valid key pass. Keys are read from the store each time, so a revoked one ends at once.
 * @throws MayflyError unauthenticated
 */
export function authenticate(store: Pick<Store, 'apiKeys'>) {
  return createMiddleware<Env>(async (c, next) => {
    if (OPEN_PATHS.has(c.req.path)) return next();
    const presented = BEARER.exec(c.req.header('Authorization') ?? '')?.[1] ?? c.req.header('X-API-Key');
    if (!presented) throw new MayflyError('unauthenticated', 'The request carries no API key.');
    const apiKey = await store.apiKeys.authenticate(presented);
    if (!apiKey) throw new MayflyError('unauthenticated', 'The API key is not valid, or was revoked.');
    c.set('apiKey', apiKey);
    return next();
  });
}

/** @throws MayflyError forbidden */
export function requires(scope: Scope) {
  return createMiddleware<Env>(async (c, next) => {
    if (!grants(c.get('apiKey').scopes, scope)) {
      throw new MayflyError('forbidden', `The API key ${c.get('apiKey').id} lacks the scope \`${scope}\`.`);
    }
    return next();
  });
}
