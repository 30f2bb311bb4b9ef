import type { IncomingMessage } from 'node:http';
import { labelOf, type PortAddress, type PortTarget, targetOfLabel } from '../../model/ports/port-address.ts';
import { TOKEN_NAME } from '../ports/port-token.ts';
import { hasKey } from './headers.ts';

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
