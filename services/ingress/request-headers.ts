import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { ExposedPort } from '../../model/ports/exposed-port.ts';
import type { PortAddress } from '../../model/ports/port-address.ts';
import { TOKEN_NAME } from '../ports/port-token.ts';
import { cookiesOf, endToEndHeaders, hasKey, outgoing } from './headers.ts';
import { type PortRoute, prefixOf } from './port-route.ts';

/** What only we say to a program, or what is between us and our caller. */
const OURS: ReadonlySet<string> = new Set([
  'host',
  'cookie',
  'expect',
  'forwarded',
  'x-real-ip',
  'x-original-url',
  'x-rewrite-url',
]);
const OUR_PREFIXES = ['x-mayfly-', 'x-forwarded-'];

/** Where a program takes itself to be. */
export function localOrigin(port: number): string {
  return `http://localhost:${port}`;
}

/** The headers with which a program gets a request. Its own `Authorization` and cookies are among them, nothing of ours is. */
export function requestHeaders(
  incoming: IncomingMessage,
  route: PortRoute,
  { host }: Pick<ExposedPort, 'host'>,
  addresses: PortAddress,
): OutgoingHttpHeaders {
  const headers = endToEndHeaders(incoming.rawHeaders, incoming.headers, isOurs);
  const origin = addresses.originOf(route);
  const publicHost = route.form === 'host' ? addresses.hostOf(route) : new URL(addresses.pathUrlOf(route)).host;
  const isLocal = host === 'localhost';
  // One world: what compares `Origin` with either of the two hosts (Next, Rails, Jupyter) finds them alike.
  const told = isLocal
    ? { host: `localhost:${route.port}`, scheme: 'http' }
    : { host: publicHost, scheme: addresses.scheme };
  headers.set('host', [told.host]);
  headers.set('x-forwarded-for', [incoming.socket.remoteAddress ?? 'unknown']);
  headers.set('x-forwarded-host', [told.host]);
  headers.set('x-forwarded-proto', [told.scheme]);
  if (route.form === 'path') headers.set('x-forwarded-prefix', [prefixOf(route)]);
  const { others } = cookiesOf(incoming.headers.cookie);
  if (others !== undefined && route.form === 'host') headers.set('cookie', [others]);
  if (isLocal && incoming.headers.origin === origin) headers.set('origin', [localOrigin(route.port)]);
  if (incoming.headers.referer?.includes(`${TOKEN_NAME}=`)) headers.delete('referer');
  for (const [name, values] of headers) if (values.some(hasKey)) headers.delete(name);
  return { ...outgoing(headers), ...framing(incoming) };
}

/** How long the body is, as Node's parser has read it: what contradicts itself has not come so far. */
function framing({ headers }: IncomingMessage): OutgoingHttpHeaders {
  if (headers['transfer-encoding'] !== undefined) return { 'transfer-encoding': 'chunked' };
  const length = headers['content-length'];
  return length === undefined ? {} : { 'content-length': length };
}

function isOurs(name: string): boolean {
  return OURS.has(name) || OUR_PREFIXES.some((prefix) => name.startsWith(prefix));
}
