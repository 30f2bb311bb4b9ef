import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { ExposedPort } from '../../model/ports/exposed-port.ts';
import type { PortAddress } from '../../model/ports/port-address.ts';
import { TOKEN_NAME } from '../ports/port-token.ts';
import {
  cookiesOf,
  endToEndHeaders,
  hasApiKey,
  isMayflyCookie,
  outgoing,
  type PortRoute,
  prefixOf,
} from './headers.ts';

/** Headers that only Mayfly sets for a program, or that concern Mayfly and its caller. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'host',
  'cookie',
  'expect',
  'forwarded',
  'x-real-ip',
  'x-original-url',
  'x-rewrite-url',
]);
const OUR_PREFIXES = ['x-mayfly-', 'x-forwarded-'];

/** Returns the origin that a program believes to have. */
function localOrigin(port: number): string {
  return `http://localhost:${port}`;
}

/** Returns the request headers for a program: the caller's own `Authorization` and cookies, nothing of Mayfly's. */
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
  // Consistent hosts: frameworks that compare `Origin` with either one (Next, Rails, Jupyter) find a match.
  const shownOrigin = isLocal
    ? { host: `localhost:${route.port}`, scheme: 'http' }
    : { host: publicHost, scheme: addresses.scheme };
  headers.set('host', [shownOrigin.host]);
  headers.set('x-forwarded-for', [incoming.socket.remoteAddress ?? 'unknown']);
  headers.set('x-forwarded-host', [shownOrigin.host]);
  headers.set('x-forwarded-proto', [shownOrigin.scheme]);
  if (route.form === 'path') headers.set('x-forwarded-prefix', [prefixOf(route)]);
  const { others } = cookiesOf(incoming.headers.cookie);
  if (others !== undefined && route.form === 'host') headers.set('cookie', [others]);
  if (isLocal && incoming.headers.origin === origin) headers.set('origin', [localOrigin(route.port)]);
  if (incoming.headers.referer?.includes(`${TOKEN_NAME}=`)) headers.delete('referer');
  for (const [name, values] of headers) if (values.some(hasApiKey)) headers.delete(name);
  return { ...outgoing(headers), ...framing(incoming) };
}

/** Returns the framing of the body as parsed by Node, which has rejected contradictions. */
function framing({ headers }: IncomingMessage): OutgoingHttpHeaders {
  if (headers['transfer-encoding'] !== undefined) return { 'transfer-encoding': 'chunked' };
  const length = headers['content-length'];
  return length === undefined ? {} : { 'content-length': length };
}

function isOurs(name: string): boolean {
  return RESERVED_HEADERS.has(name) || OUR_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/**
 * Response headers that a program may not set: Mayfly's own, those for other hosts (RFC 7838), those that make a proxy
 * in front send its files, and those that browsers keep or report for the whole site.
 */
const RESERVED_RESPONSE_HEADERS: ReadonlySet<string> = new Set([
  'alt-svc',
  'clear-site-data',
  'expect-ct',
  'nel',
  'public-key-pins',
  'public-key-pins-report-only',
  'report-to',
  'reporting-endpoints',
  'strict-transport-security',
  'x-lighttpd-send-file',
  'x-reproxy-url',
  'x-sendfile',
]);
const RESERVED_PREFIXES = ['x-mayfly-', 'x-accel-'];
const CORS_PREFIX = 'access-control-';

/** CSP that gives each page an opaque origin, which isolates it from the rest of that host name. */
const SANDBOXED = 'sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts';
/** For a proxy in front as well: nginx would buffer an event stream. */
const UNBUFFERED = { 'x-accel-buffering': 'no' };

/** Returns the response headers for the caller of a program. */
export function answerHeaders(
  incoming: IncomingMessage,
  route: PortRoute,
  { host, cors }: Pick<ExposedPort, 'host' | 'cors'>,
  addresses: PortAddress,
): OutgoingHttpHeaders {
  const isDropped = (name: string) => isReservedHeader(name) || (cors && name.startsWith(CORS_PREFIX));
  const headers = endToEndHeaders(incoming.rawHeaders, incoming.headers, isDropped);
  const { form, port } = route;
  const origin = addresses.originOf(route);
  const isLocal = host === 'localhost';
  change(headers, 'location', (to) => {
    if (form === 'path') return prefixPath(to, route, isLocal ? [localOrigin(port)] : []);
    return isLocal ? rebaseUrl(to, localOrigin(port), origin) : to;
  });
  if (isLocal) change(headers, 'access-control-allow-origin', (to) => (to === localOrigin(port) ? origin : to));
  const cookies = form === 'host' ? (headers.get('set-cookie') ?? []).filter(isProgramCookie).map(withoutDomain) : [];
  if (cookies.length > 0) headers.set('set-cookie', cookies);
  else headers.delete('set-cookie');
  if (form === 'path') {
    headers.set('content-security-policy', [...(headers.get('content-security-policy') ?? []), SANDBOXED]);
    headers.set('referrer-policy', ['no-referrer']);
    headers.delete('service-worker-allowed');
  }
  const length = incoming.headers['content-length'];
  const framed =
    length === undefined || incoming.headers['transfer-encoding'] !== undefined ? {} : { 'content-length': length };
  return { ...outgoing(headers), ...framed, ...UNBUFFERED, ...(cors && { 'access-control-allow-origin': '*' }) };
}

/** Returns the response headers for a CORS preflight. */
export function preflightHeaders({ headers }: IncomingMessage): OutgoingHttpHeaders {
  return {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': headers['access-control-request-method'] ?? '*',
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '*',
    'access-control-max-age': '600',
    vary: 'Access-Control-Request-Method, Access-Control-Request-Headers',
  };
}

function isReservedHeader(name: string): boolean {
  return RESERVED_RESPONSE_HEADERS.has(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix));
}

function change(headers: Map<string, string[]>, name: string, to: (value: string) => string): void {
  const values = headers.get(name);
  if (values) headers.set(name, values.map(to));
}

/** Moves a URL from one origin to another; returns other URLs unchanged. */
function rebaseUrl(url: string, from: string, to: string): string {
  if (url === from) return to;
  return /^[/?#]/.test(url.slice(from.length)) && url.startsWith(from) ? to + url.slice(from.length) : url;
}

/** Puts a path of the program, or a URL of its own origin, below its prefix. */
function prefixPath(url: string, route: PortRoute, origins: readonly string[]): string {
  const prefix = prefixOf(route);
  if (url.startsWith('/') && !url.startsWith('//')) return prefix + url;
  return origins.reduce((at, origin) => rebaseUrl(at, origin, prefix), url);
}

function isProgramCookie(cookie: string): boolean {
  return !isMayflyCookie(cookie.split(';')[0] ?? '');
}

/** Removes `Domain`, so that the cookie belongs to this host name alone. */
function withoutDomain(cookie: string): string {
  const [pair = '', ...attributes] = cookie.split(';');
  return [pair, ...attributes.filter((attribute) => !/^\s*domain\s*(=|$)/i.test(attribute))].join(';');
}
