import { isIP } from 'node:net';
import { LIMITS } from '../../../model/limits.ts';

const MAX_CHARACTERS = LIMITS.webhooks.urlLength;

/** Ports at which a request could be read as another protocol ("bad ports" of the Fetch standard). */
const BAD_PORTS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/**
 * Returns why a URL cannot be an endpoint's, as a predicate; null when it can. Its address is judged at the connection.
 */
export function endpointUrlProblem(text: string): string | null {
  if (text.length > MAX_CHARACTERS) return `has more than ${MAX_CHARACTERS} characters`;
  if (/[\s\p{Cc}\\]/u.test(text)) return 'has white space, control characters or backslashes';
  if (!/^https?:\/\/[^/]/i.test(text)) return 'does not begin with https:// or http://, and a host';
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url) return 'is no URL';
  if (url.username !== '' || url.password !== '') return 'has credentials: have the endpoint verify the signature';
  if (url.hash !== '' || text.includes('#')) return 'has a fragment, which is never sent';
  if (BAD_PORTS.has(portOf(url))) return `has the port ${portOf(url)}, which is another protocol's`;
  return null;
}

/** @param url valid for {@link endpointUrlProblem} */
export function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/** Returns the host without brackets, and whether it is an address. */
export function hostOf({ hostname }: URL): { host: string; isAddress: boolean } {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return { host, isAddress: isIP(host) !== 0 };
}
