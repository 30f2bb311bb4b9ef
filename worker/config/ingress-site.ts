import { isIP } from 'node:net';
import { getDomain } from 'tldts';

/**
 * Returns the problem with the address of open ports, or null. Guests' pages are untrusted, so browsers must treat them
 * as another site than the API: otherwise they share its cookies, frames and storage.
 * @param url scheme, name and port of all
 * @param api addresses and names of the API, with or without a port
 */
export function findIngressProblem(url: string, api: readonly string[]): string | null {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isPlain = parsed?.pathname === '/' && parsed.search === '' && parsed.hash === '' && parsed.username === '';
  if (!parsed || !isPlain || !['http:', 'https:'].includes(parsed.protocol)) {
    return 'give a scheme, a name and perhaps a port, such as https://sandboxes.example.net';
  }
  const { hostname } = parsed;
  if (hostname.includes('*')) return 'give the name below which each port has its own, without `*.`';
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return 'give a name: ports have names of their own below it';
  const own = [getSite(`p.${hostname}`), getSite(hostname)];
  const same = api.map(nameOf).find((name) => own.includes(getSite(name)));
  if (same === undefined) return null;
  return `to a browser, pages of sandboxes below ${hostname} are of the same site as the API at ${same}; give them a domain of their own (such as https://sandboxes.example.net beside https://mayfly.example.com)`;
}

/**
 * Returns the registrable domain, or the name itself if it has none.
 * https://html.spec.whatwg.org/multipage/browsers.html#obtain-a-site
 */
function getSite(name: string): string {
  return getDomain(name, { allowPrivateDomains: true }) ?? name;
}

/** Returns the host without its port, in lower case. */
function nameOf(authority: string): string {
  const host = isIP(authority) === 6 ? `[${authority}]` : authority;
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname.replace(/\.$/, '') : authority;
}

/** Returns the problem with the address of hooks for senders, or null. */
export function findHooksProblem(url: string): string | null {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const { pathname, search, hash, username, password, protocol } = parsed ?? {};
  const isPlain = pathname === '/' && [search, hash, username, password].every((part) => part === '');
  if (isPlain && (protocol === 'http:' || protocol === 'https:')) return null;
  return 'give a scheme, a name and perhaps a port, such as https://hooks.example.net';
}
