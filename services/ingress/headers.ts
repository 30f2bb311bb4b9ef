import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { labelOf, type PortAddress, type PortTarget, targetOfLabel } from '../../model/ports/port-address.ts';
import { TOKEN_NAME } from '../ports/port-token.ts';

/** Ours, in a browser, for one name alone (RFC 6265bis §4.1.3.2). */
export const COOKIE_NAME = `__Host-${TOKEN_NAME}`;
export const TOKEN_HEADER = 'x-mayfly-token';
export const KEY_HEADER = 'x-mayfly-key';
/** An API key, where a value of its own may begin. */
const KEY = /(?:^|[^A-Za-z0-9])mfk_/;

/** Of one connection, and never passed on: RFC 9110 §7.6.1, RFC 7540 §3.2.1. Framing is each side's own. */
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
 * The headers of a message by their names in lower case, as often as they came, without those of the connection. A name
 * is read as CGI and WSGI read it: `X_Forwarded_For` is `X-Forwarded-For` there.
 * @param isDropped of such a name
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

/** As node:http takes them. */
export function outgoing(headers: ReadonlyMap<string, readonly string[]>): OutgoingHttpHeaders {
  return Object.fromEntries(
    [...headers].map(([name, values]) => [name, values.length === 1 ? values[0] : [...values]]),
  );
}

/** The cookies of a request: ours, and the others as they came, without API keys. */
export function cookiesOf(header: string | undefined): { own: string | undefined; others: string | undefined } {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  const own = pairs.find((pair) => pair.startsWith(`${COOKIE_NAME}=`))?.slice(COOKIE_NAME.length + 1);
  const others = pairs.filter((pair) => pair !== '' && !isOurCookie(pair) && !hasKey(pair)).join('; ');
  return { own, others: others === '' ? undefined : others };
}

/**
 * Whether a pair of a cookie is, or becomes in some browser or program, the one of ours: blanks around its name, a letter of
 * another case, a name that stands in the value of a cookie without one (RFC 6265bis §5.7).
 */
export function isOurCookie(pair: string): boolean {
  const [name = ''] = pair.replace(/^[\s=]+/, '').split('=');
  return decoded(name).trim().toLowerCase() === COOKIE_NAME.toLowerCase();
}

/** Whether a text has an API key of Mayfly: that is for no program of a guest. Also in `Basic` (RFC 7617). */
export function hasKey(text: string): boolean {
  const [, pair] = /^\s*basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(text) ?? [];
  const inPair = pair !== undefined && KEY.test(Buffer.from(pair, 'base64').toString('latin1'));
  return inPair || KEY.test(text) || KEY.test(decoded(text));
}

/** Percent-encoded as far as it is; programs read cookies and queries so. */
function decoded(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Port and path that a request is for. */
export interface PortRoute extends PortTarget {
  /** By a name of its own, or by a path of the name that all have in common. */
  form: 'host' | 'path';
  /** Path and query as the program gets them: what is Mayfly's is taken off. */
  path: string;
  /** Of the query. */
  token: string | undefined;
}

/** `/3000-sbx-0123456789abcdef`, and what is behind it. */
const IN_PATH = /^\/([^/?]{1,63})(?=$|[/?])(.*)$/s;

/** Returns null when it names no port of a sandbox, or is not written as HTTP/1.1 says it to a server (RFC 9112 §3.2.1). */
export function parseRoute({ url = '', rawHeaders }: IncomingMessage, addresses: PortAddress): PortRoute | null {
  const hosts = rawHeaders.filter((_text, n) => n % 2 === 1 && rawHeaders[n - 1]?.toLowerCase() === 'host');
  if (hosts.length !== 1 || !url.startsWith('/')) return null;
  const named = addresses.targetOfHost(hosts[0] ?? '');
  if (named === null) return null;
  if (named !== 'all') return { ...named, form: 'host', ...withoutToken(url) };
  const [, label = '', rest = ''] = IN_PATH.exec(url) ?? [];
  const target = targetOfLabel(label);
  return target && { ...target, form: 'path', ...withoutToken(rest.startsWith('/') ? rest : `/${rest}`) };
}

/** Returns the prefix of the path of a program, where all share a name. */
export function prefixOf(target: PortTarget): string {
  return `/${labelOf(target)}`;
}

/** Takes the token and API keys out of the query, and leaves the rest of it byte for byte. */
function withoutToken(url: string): { path: string; token: string | undefined } {
  const at = url.indexOf('?');
  if (at < 0) return { path: url, token: undefined };
  const parts = url.slice(at + 1).split('&');
  const rest = parts.filter((part) => !isToken(part) && !hasKey(part));
  const token = parts.find(isToken)?.slice(TOKEN_NAME.length + 1);
  return { path: url.slice(0, at) + (rest.length > 0 ? `?${rest.join('&')}` : ''), token };
}

function isToken(part: string): boolean {
  return part.startsWith(`${TOKEN_NAME}=`);
}
