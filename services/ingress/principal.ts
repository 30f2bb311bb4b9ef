import type { IncomingMessage } from 'node:http';
import type { PortAddress } from '../../model/ports/port-address.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { grants } from '../../model/scopes.ts';
import type { Store } from '../../store/connect.ts';
import { readPortToken } from '../ports/port-token.ts';
import { cookiesOf, KEY_HEADER, type PortRoute, TOKEN_HEADER } from './headers.ts';
import type { KnownPort, KnownPorts } from './known-ports.ts';

/** Principal that may use a port, and how it was verified. */
export interface Principal {
  /** API key that was sent, or for which the token was made. */
  actor: Actor;
  /** Null: a key. */
  tokenId: string | null;
  /** When it is over, milliseconds since 1970; null: it is not. */
  expiresAt: number | null;
}

interface Doors {
  known: KnownPorts;
  store: Pick<Store, 'apiKeys'>;
  addresses: PortAddress;
}

/** Returns the principal of a request; null: it may not use this port. */
export async function verifyPrincipal(
  incoming: IncomingMessage,
  route: PortRoute,
  { port, sandbox }: KnownPort,
  doors: Doors,
): Promise<Principal | null> {
  if (port.visibility === 'project') return verifyKey(incoming, sandbox.project, doors);
  const token = presentedToken(incoming, route, doors.addresses);
  const claims = token === undefined ? null : readPortToken(port, token);
  const key = claims && (await doors.known.keyOf(claims.apiKeyId));
  if (!claims || !key) return null;
  const actor = { apiKeyId: key.id, agentId: null, project: key.project };
  return { actor, tokenId: claims.id, expiresAt: claims.expires * 1_000 };
}

/** Returns the token of a request: a header or query precedes a cookie, which a browser adds by itself. */
function presentedToken(incoming: IncomingMessage, route: PortRoute, addresses: PortAddress): string | undefined {
  const said = incoming.headers[TOKEN_HEADER] ?? route.token;
  if (said !== undefined) return String(said);
  const mayUseCookie = route.form === 'host' && isOwnPages(incoming, addresses.originOf(route));
  return mayUseCookie ? cookiesOf(incoming.headers.cookie).own : undefined;
}

/**
 * Whether a request that a browser sends comes of a page of this very name, or of somebody who goes there. To a browser all
 * guests may be one site, so that it sends the cookie along with what a page of another guest asks for.
 */
function isOwnPages({ headers, method }: IncomingMessage, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  const goesThere = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  if (goesThere && (method === 'GET' || method === 'HEAD')) return true;
  if (headers.origin !== undefined && headers.origin !== origin) return false;
  return site === undefined || site === 'same-origin' || site === 'none';
}

async function verifyKey(incoming: IncomingMessage, project: string, { store }: Doors): Promise<Principal | null> {
  const presented = incoming.headers[KEY_HEADER];
  const key = typeof presented === 'string' ? await store.apiKeys.authenticate(presented) : null;
  if (!key || !grants(key.scopes, 'sandboxes:write')) return null;
  if (key.project !== project && !grants(key.scopes, 'operator')) return null;
  return { actor: { apiKeyId: key.id, agentId: null, project: key.project }, tokenId: null, expiresAt: null };
}
