import { lookup, Resolver } from 'node:dns/promises';
import http, { type IncomingMessage } from 'node:http';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import type { AddressPolicy } from './address-policy.ts';
import { endpointUrlProblem, hostOf, portOf } from './endpoint-url.ts';

/** Limit of response bytes that are read. */
const MOST_READ = 65_536;
/** Number of response bytes that are stored. */
export const KEPT = 1_024;

/**
 * Returns the outcome of a response; only a complete, short 2xx is a success.
 * @throws Error when the signal is aborted
 */
async function answerOf(answer: IncomingMessage, signal: AbortSignal): Promise<PostOutcome> {
  const status = answer.statusCode ?? 0;
  const { bytes, problem } = await bodyOf(answer, signal);
  const reason = problem ?? problemOf(status);
  return {
    isTaken: reason === null,
    status,
    reason,
    isTimeout: false,
    retryAfterMs: retryAfterOf(answer.headers['retry-after'], Date.now()),
    answer: bytes.subarray(0, KEPT),
  };
}

/** Returns the delay in ms; null without a valid header (RFC 9110 §10.2.3). */
export function retryAfterOf(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1_000;
  const at = /^[A-Z][a-z]{2},? /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

async function bodyOf(
  answer: IncomingMessage,
  signal: AbortSignal,
): Promise<{ bytes: Buffer; problem: string | null }> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      pieces.push(piece);
      length += piece.length;
      if (length <= MOST_READ) continue;
      answer.destroy();
      return { bytes: Buffer.concat(pieces), problem: `it answered with more than ${MOST_READ} bytes` };
    }
    return { bytes: Buffer.concat(pieces), problem: null };
  } catch (error) {
    if (signal.aborted) throw error;
    return { bytes: Buffer.concat(pieces), problem: 'it closed the connection before its answer was whole' };
  }
}

function problemOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  const isRedirect = status >= 300 && status < 400;
  return `it answered with ${status}${isRedirect ? ', and redirects are not followed' : ''}`;
}

/** Outcome of a request. */
export interface PostOutcome {
  isTaken: boolean;
  /** Null without a response. */
  status: number | null;
  /** Reason of the failure, in words; null for a success. */
  reason: string | null;
  /** True after the time limit. */
  isTimeout: boolean;
  /** Delay in Retry-After, ms; null: none. */
  retryAfterMs: number | null;
  /** First bytes of the response. */
  answer: Uint8Array;
}

/** Resolves a name to all of its addresses. @throws Error with a `code` of node:dns */
type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>;

const ASKED = { timeout: 3_000, tries: 2 } as const;
/** DNS errors without a fallback to the system: a silent name server would block one of few threads again. */
const SILENT = new Set(['ETIMEOUT', 'ECANCELLED']);

/** Resolves by DNS, without a thread; on an empty result, by the system's resolver. */
const resolveName: Resolve = async (name, signal) => {
  const resolver = new Resolver(ASKED);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    if (addresses.length > 0) return addresses;
    const silent = found.find((one) => one.status === 'rejected' && SILENT.has(codeOf(one.reason)));
    if (silent?.status === 'rejected') throw silent.reason as Error;
    return (await lookup(name, { all: true })).map(({ address }) => address);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
};

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Request to send. */
export interface PostRequest {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array;
}

/** Connects to an approved address. */
export type Dial = (address: string, port: number) => Socket;

export interface Network {
  policy: AddressPolicy;
  /** `@default` DNS */
  resolve?: Resolve;
  /** `@default` TCP */
  dial?: Dial;
  /** PEM certificates trusted beside those of Node. `@default` none */
  ca?: string;
  /** Limit until the response is complete, ms. `@default` 20 s */
  timeoutMs?: number;
}

const TIMEOUT_MS = 20_000;

/**
 * Sends a request to an allowed address of its host only: resolves the name once, and follows no redirects. Never
 * throws.
 */
export async function post(posted: PostRequest, network: Network): Promise<PostOutcome> {
  const timeoutMs = network.timeoutMs ?? TIMEOUT_MS;
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), timeoutMs);
  let socket: Socket | null = null;
  try {
    const url = new URL(urlOf(posted.url));
    const address = await addressOf(url, network, over.signal);
    socket = (network.dial ?? dialTcp)(address, portOf(url));
    const answer = await sendRequest(posted, url, socket, network, over.signal);
    return await answerOf(answer, over.signal);
  } catch (error) {
    const isTimeout = over.signal.aborted;
    const reason = isTimeout ? `it took longer than ${timeoutMs / 1_000} s` : reasonOf(error);
    return { isTaken: false, status: null, reason, isTimeout, retryAfterMs: null, answer: new Uint8Array() };
  } finally {
    clearTimeout(timer);
    socket?.destroy();
  }
}

const dialTcp: Dial = (host, port) => net.connect({ host, port, noDelay: true });

function urlOf(text: string): string {
  const problem = endpointUrlProblem(text);
  if (problem !== null) throw new Refused(`its URL ${problem}`);
  return text;
}

/** Returns the address to connect to. @throws Refused */
async function addressOf(url: URL, network: Network, signal: AbortSignal): Promise<string> {
  const { host, isAddress } = hostOf(url);
  const found = isAddress ? [host] : await untilAborted((network.resolve ?? resolveName)(host, signal), signal);
  const refusals: string[] = [];
  for (const address of found) {
    const refusal = network.policy.refusalOf(address);
    if (refusal === null) return address;
    refusals.push(`${address} ${refusal}`);
  }
  throw new Refused(refusals[0] ?? `${host} has no address`);
}

function sendRequest(
  { headers, body }: PostRequest,
  url: URL,
  socket: Socket,
  { ca }: Network,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { host, isAddress } = hostOf(url);
  const connectTls = () => {
    const trusted = ca === undefined ? {} : { ca: [...tls.rootCertificates, ca] };
    return tls.connect({ socket, host, ...(isAddress ? {} : { servername: host.replace(/\.$/, '') }), ...trusted });
  };
  return new Promise((resolve, reject) => {
    // Not even `agent: false`: an agent would open a connection of its own.
    const request = http.request({
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: { Host: url.host, ...headers, 'Content-Length': body.length, Connection: 'close' },
      createConnection: () => (url.protocol === 'https:' ? connectTls() : socket),
      signal,
    });
    socket.on('error', reject);
    request.on('error', reject);
    request.on('response', resolve);
    request.end(body);
  });
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    work.then(resolve, reject);
  });
}

/** Error of a connection that the policy refuses. */
class Refused extends Error {}

function reasonOf(error: unknown): string {
  if (error instanceof Refused) return `nothing was sent: ${error.message}`;
  const { message, code } = error as Error & { code?: string };
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}
