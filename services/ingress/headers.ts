import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { formatPortLabel, type PortAddress, type PortTarget, parsePortLabel } from '../../model/ports/port-address.ts';
import { TOKEN_NAME } from '../ports/port-token.ts';

/** Cookie of Mayfly, which browsers bind to one host name (RFC 6265bis §4.1.3.2). */
export const COOKIE_NAME = `__Host-${TOKEN_NAME}`;
export const TOKEN_HEADER = 'x-mayfly-token';
export const KEY_HEADER = 'x-mayfly-key';
/** API key, at the start of a word. */
const KEY = /(?:^|[^A-Za-z0-9])mfk_/;

/** Headers of one connection, never forwarded: RFC 9110 §7.6.1, RFC 7540 §3.2.1. Node frames each side itself. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Returns the end-to-end headers of a message by lower-case name, with repetitions. Names are compared as CGI and WSGI
 * read them: `X_Forwarded_For` is `X-Forwarded-For`.
 * @param isDropped true for a name to leave out
 */
export function endToEndHeaders(
  rawHeaders: readonly string[],
  { connection }: Pick<IncomingHttpHeaders, 'connection'>,
  isDropped: (name: string) => boolean,
): Map<string, string[]> {
  const ofConnection = new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const passed = new Map<string, string[]>();
  for (let n = 0; n + 1 < rawHeaders.length; n += 2) {
    const name = (rawHeaders[n] ?? '').toLowerCase();
    const read = name.replaceAll('_', '-');
    if (HOP_BY_HOP.has(read) || ofConnection.has(name) || isDropped(read)) continue;
    passed.set(name, [...(passed.get(name) ?? []), rawHeaders[n + 1] ?? '']);
  }
  return passed;
}

/** Converts headers to those of node:http. */
export function outgoing(headers: ReadonlyMap<string, readonly string[]>): OutgoingHttpHeaders {
  return Object.fromEntries(
    [...headers].map(([name, values]) => [name, values.length === 1 ? values[0] : [...values]]),
  );
}

/** Splits the cookies of a request: Mayfly's own, and the others unchanged, without API keys. */
export function cookiesOf(header: string | undefined): { own: string | undefined; others: string | undefined } {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  const own = pairs.find((pair) => pair.startsWith(`${COOKIE_NAME}=`))?.slice(COOKIE_NAME.length + 1);
  const others = pairs.filter((pair) => pair !== '' && !isMayflyCookie(pair) && !hasApiKey(pair)).join('; ');
  return { own, others: others === '' ? undefined : others };
}

/**
 * Reports whether some browser or program reads a cookie pair as Mayfly's: blanks around its name, another case, or a
 * name in the value of a nameless cookie (RFC 6265bis §5.7).
 */
export function isMayflyCookie(pair: string): boolean {
  const [name = ''] = pair.replace(/^[\s=]+/, '').split('=');
  return decodePercent(name).trim().toLowerCase() === COOKIE_NAME.toLowerCase();
}

/** Reports whether a text has an API key of Mayfly, also in `Basic` (RFC 7617): guests must not get it. */
export function hasApiKey(text: string): boolean {
  const [, pair] = /^\s*basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(text) ?? [];
  const inPair = pair !== undefined && KEY.test(Buffer.from(pair, 'base64').toString('latin1'));
  return inPair || KEY.test(text) || KEY.test(decodePercent(text));
}

/** Decodes percent-encoded bytes, as programs do in cookies and queries. */
function decodePercent(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Port and path of a request. */
export interface PortRoute extends PortTarget {
  /** By a host name of its own, or by a path under the shared name. */
  form: 'host' | 'path';
  /** Path and query for the program, without Mayfly's parts. */
  path: string;
  /** Token in the query. */
  token: string | undefined;
}

/** `/3000-sbx-0123456789abcdef`, and the rest. */
const IN_PATH = /^\/([^/?]{1,63})(?=$|[/?])(.*)$/s;

/** Returns the route; null when it names no port of a sandbox, or is not in origin-form (RFC 9112 §3.2.1). */
export function parseRoute({ url = '', rawHeaders }: IncomingMessage, addresses: PortAddress): PortRoute | null {
  const hosts = rawHeaders.filter((_text, n) => n % 2 === 1 && rawHeaders[n - 1]?.toLowerCase() === 'host');
  if (hosts.length !== 1 || !url.startsWith('/')) return null;
  const named = addresses.targetOfHost(hosts[0] ?? '');
  if (named === null) return null;
  if (named !== 'all') return { ...named, form: 'host', ...withoutToken(url) };
  const [, label = '', rest = ''] = IN_PATH.exec(url) ?? [];
  const target = parsePortLabel(label);
  return target && { ...target, form: 'path', ...withoutToken(rest.startsWith('/') ? rest : `/${rest}`) };
}

/** Returns the path prefix of a program under the shared name. */
export function prefixOf(target: PortTarget): string {
  return `/${formatPortLabel(target)}`;
}

/** Removes the token and API keys from the query, and leaves the rest unchanged byte for byte. */
function withoutToken(url: string): { path: string; token: string | undefined } {
  const at = url.indexOf('?');
  if (at < 0) return { path: url, token: undefined };
  const parts = url.slice(at + 1).split('&');
  const rest = parts.filter((part) => !isToken(part) && !hasApiKey(part));
  const token = parts.find(isToken)?.slice(TOKEN_NAME.length + 1);
  return { path: url.slice(0, at) + (rest.length > 0 ? `?${rest.join('&')}` : ''), token };
}

function isToken(part: string): boolean {
  return part.startsWith(`${TOKEN_NAME}=`);
}
