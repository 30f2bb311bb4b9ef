import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { isIPv6, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { MayflyError } from '../../model/errors.ts';
import { isRequestId, onBehalfOf, REQUEST_ID_HEADER } from '../../store/audit/request-id.ts';
import { answerError, type Exchange, type Route } from './exchange.ts';
import { IDENTITY, makeRelayKey, TLS } from './tls.ts';

interface RelayOptions {
  /** Where to listen, and what the API is told: an address of this machine that it can reach. */
  address: string;
  /** 0 takes a free one. */
  port: number;
  /** By the first segment of their paths. */
  routes: Readonly<Record<string, Route>>;
  logger: Logger;
}

export interface Relay {
  url: string;
  /** The pre-shared key; a new one each time. */
  key: Buffer;
  close(): Promise<void>;
}

const HEADERS_MS = 10_000;
/** Longer than the API keeps a connection that it does not use, so that it never writes to one that we are closing. Milliseconds. */
const KEEP_ALIVE_MS = 120_000;
/** A peer that takes nothing of an answer, or sends nothing of its request, for this long is gone. Milliseconds. */
const STALLED_MS = 120_000;
const HEADER_BYTES = 32_768;
const CONNECTIONS = 4_096;
/** Requests under way when the relay is closed. Milliseconds. */
const CLOSE_MS = 2_000;

/** The door through which the API reaches the guests of this machine. Opens only to who has the key. */
export async function startRelay({ address, port, routes, logger }: RelayOptions): Promise<Relay> {
  const key = makeRelayKey();
  const server = createServer({
    ...TLS,
    pskIdentityHint: IDENTITY,
    pskCallback: (_socket, identity) => (identity === IDENTITY ? key : null),
    handshakeTimeout: HEADERS_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: 0, // an upload takes as long as it takes; one that stalls is ended below
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADER_BYTES,
    noDelay: true,
    keepAlive: true,
  });
  server.maxConnections = CONNECTIONS;
  server.timeout = STALLED_MS;
  server.on('tlsClientError', (error) => logger.debug({ err: error }, 'a connection to the relay was refused'));
  server.on('request', (request, response) => {
    const id = request.headers[REQUEST_ID_HEADER];
    void onBehalfOf(isRequestId(id) ? id : undefined, () => answer(routes, request, response, logger));
  });
  server.listen(port, address);
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the relay has no port');
  const host = isIPv6(address) ? `[${address}]` : address;
  return { url: `https://${host}:${bound.port}`, key, close: () => close(server) };
}

async function answer(
  routes: RelayOptions['routes'],
  request: IncomingMessage,
  response: ServerResponse,
  logger: Logger,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new Error('the API has gone away'));
  });
  // A connection that only waits, for a quiet command's output, may do so.
  response.on('timeout', (socket: Socket) => {
    if (!request.complete || socket.writableLength > 0) socket.destroy();
  });
  request.on('error', () => {}); // told by the response's close
  response.on('error', () => {});
  try {
    const { route, exchange } = routed(routes, request, response, gone.signal);
    await route(exchange);
  } catch (cause) {
    if (gone.signal.aborted) return;
    const error = cause instanceof MayflyError ? cause : unforeseen(cause);
    if (error.code === 'internal') logger.error({ err: cause, url: request.url }, 'the relay failed');
    // A half-sent answer can only be cut off: its reader must not take it for a whole one.
    if (response.headersSent) response.destroy();
    else answerError(response, error);
  } finally {
    if (!request.complete) request.resume(); // or the next request could not be read
  }
}

function routed(
  routes: RelayOptions['routes'],
  request: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): { route: Route; exchange: Exchange } {
  const target = request.url ?? '';
  const url = parsed(target);
  const [name = '', ...segments] = url.pathname.slice(1).split('/').map(decoded);
  const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
  if (!route) throw new MayflyError('not_found', 'The relay has nothing at that path.');
  const method = request.method ?? '';
  return { route, exchange: { request, response, method, segments, query: url.searchParams, target, signal } };
}

function parsed(target: string): URL {
  if (target.startsWith('/') && URL.canParse(target, 'https://relay')) return new URL(target, 'https://relay');
  throw new MayflyError('not_found', 'The relay has nothing at that path.');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new MayflyError('not_found', 'The relay has nothing at that path: its percent-encoding is broken.');
  }
}

function unforeseen(cause: unknown): MayflyError {
  return new MayflyError('internal', 'Something went wrong in the host worker that nobody foresaw.', { cause });
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const force = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
  await closed;
  clearTimeout(force);
}
