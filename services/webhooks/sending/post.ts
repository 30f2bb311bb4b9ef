import http, { type IncomingMessage } from 'node:http';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import type { AddressPolicy } from './address-policy.ts';
import { answerOf } from './answer.ts';
import { endpointUrlProblem, hostOf, portOf } from './endpoint-url.ts';
import type { PostOutcome } from './post-outcome.ts';
import { type Resolve, resolveName } from './resolve.ts';

/** What is sent. */
export interface Posted {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array;
}

/** Connects to an address that was judged. */
export type Dial = (address: string, port: number) => Socket;

export interface Network {
  policy: AddressPolicy;
  /** `@default` by DNS */
  resolve?: Resolve;
  /** `@default` by TCP */
  dial?: Dial;
  /** PEM certificates that are trusted besides those of Node's. `@default` none */
  ca?: string;
  /** Until the whole answer is there. Milliseconds. `@default` 20 s */
  timeoutMs?: number;
}

const TIMEOUT_MS = 20_000;

/**
 * Sends a request to an address of its host that may be connected to, and to no other: names are resolved once, and redirects
 * are not followed. It throws nothing.
 */
export async function post(posted: Posted, network: Network): Promise<PostOutcome> {
  const timeoutMs = network.timeoutMs ?? TIMEOUT_MS;
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), timeoutMs);
  let socket: Socket | null = null;
  try {
    const url = new URL(urlOf(posted.url));
    const address = await addressOf(url, network, over.signal);
    socket = (network.dial ?? dialTcp)(address, portOf(url));
    const answer = await answered(posted, url, socket, network, over.signal);
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

/** The address to connect to. @throws Refused */
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

function answered(
  { headers, body }: Posted,
  url: URL,
  socket: Socket,
  { ca }: Network,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { host, isAddress } = hostOf(url);
  const secured = () => {
    const trusted = ca === undefined ? {} : { ca: [...tls.rootCertificates, ca] };
    return tls.connect({ socket, host, ...(isAddress ? {} : { servername: host.replace(/\.$/, '') }), ...trusted });
  };
  return new Promise((resolve, reject) => {
    // No agent, not even false: one would make a connection of its own.
    const request = http.request({
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: { Host: url.host, ...headers, 'Content-Length': body.length, Connection: 'close' },
      createConnection: () => (url.protocol === 'https:' ? secured() : socket),
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

/** It was not connected to. */
class Refused extends Error {}

function reasonOf(error: unknown): string {
  if (error instanceof Refused) return `nothing was sent: ${error.message}`;
  const { message, code } = error as Error & { code?: string };
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}
