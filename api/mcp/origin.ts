import { isIP } from 'node:net';
import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import { createMiddleware } from 'hono/factory';
import { MayflyError } from '../../model/errors.ts';
import type { Env } from '../http/context.ts';

/**
 * Against a web page that has a browser speak to this door (DNS rebinding): asked for under a name of another, or by a page
 * of another origin, it answers nothing. An address is no name that anybody could point here.
 * @param names under which the API is reached, beside those of loopback
 * @throws MayflyError forbidden
 */
export function refuseForeignOrigin(names: readonly string[]) {
  const hosts = [...localhostAllowedHostnames(), ...names];
  const origins = [...localhostAllowedOrigins(), ...names];
  return createMiddleware<Env>(async (c, next) => {
    const host = c.req.header('Host');
    if (!isAddress(host) && !validateHostHeader(host, hosts).ok) {
      throw new MayflyError('forbidden', 'The header `Host` names something else than this API; see MAYFLY_API_NAMES.');
    }
    if (!validateOriginHeader(c.req.header('Origin'), origins).ok) {
      throw new MayflyError(
        'forbidden',
        'The header `Origin` names a page that may not ask here; see MAYFLY_API_NAMES.',
      );
    }
    return next();
  });
}

function isAddress(host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false;
  return isIP(new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '')) !== 0;
}
