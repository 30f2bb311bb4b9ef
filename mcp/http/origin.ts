import { isIP } from 'node:net';
import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import { MayflyError } from '../../model/errors.ts';

/**
 * Refuses requests of a web page by DNS rebinding: under a name of another server, or from a page of another origin. An
 * address is no name that anybody could point here.
 * @param names under which the API is reached, beside those of loopback
 * @throws MayflyError forbidden
 */
export function refuseForeignOrigin({ headers }: Request, names: readonly string[]): void {
  const host = headers.get('Host') ?? undefined;
  if (!isAddress(host) && !validateHostHeader(host, [...localhostAllowedHostnames(), ...names]).ok) {
    throw new MayflyError('forbidden', 'The header `Host` names something else than this API; see MAYFLY_API_NAMES.');
  }
  const origin = headers.get('Origin') ?? undefined;
  if (!validateOriginHeader(origin, [...localhostAllowedOrigins(), ...names]).ok) {
    throw new MayflyError('forbidden', 'The header `Origin` names a page that may not ask here; see MAYFLY_API_NAMES.');
  }
}

function isAddress(host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false;
  return isIP(new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '')) !== 0;
}
