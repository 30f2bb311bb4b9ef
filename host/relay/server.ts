import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { isIPv6, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { MayflyError } from '../../model/errors.ts';
import { isRequestId, REQUEST_ID_HEADER, runWithRequestId } from '../../store/audit/request-id.ts';
import { answerError, type Exchange, type Route } from './exchange.ts';
import { IDENTITY, makeRelayKey, TLS } from './tls.ts';

interface RelayOptions {
  /** Address to listen on and to announce: one of this machine that the API can reach. */
  address: string;
  /** 0 takes a free port. */
  port: number;
  /** Routes by the first segment of the path. */
  routes: Readonly<Record<string, Route>>;
  logger: Logger;
}

export interface Relay {
  url: string;
  /** Pre-shared key; a new one at each start. */
  key: Buffer;
  close(): Promise<void>;
}

const HEADERS_MS = 10_000;
/** Idle time of a connection, ms; longer than the API's, so that the API never writes to a closing one. */
const KEEP_ALIVE_MS = 120_000;
/** Time without progress on an answer or a request after which the peer counts as gone. Milliseconds. */
const STALLED_MS = 120_000;
const HEADER_BYTES = 32_768;
const CONNECTIONS = 4_096;
/** Grace period for requests when the relay is closed. Milliseconds. */
const CLOSE_MS = 2_000;

/** Starts the endpoint through which the API reaches this machine's guests. Requires the key. */
export async function startRelay({ address, port, routes, logger }: RelayOptions): Promise<Relay> {
  const key = makeRelayKey();
  const server = createServer({
    ...TLS,
    pskIdentityHint: IDENTITY,
    pskCallback: (_socket, identity) => (identity === IDENTITY ? key : null),
    handshakeTimeout: HEADERS_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: 0, // uploads may take any time; a stalled one is ended below
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
    void runWithRequestId(isRequestId(id) ? id : undefined, () => answer(routes, request, response, logger));
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
  // A connection that only waits, e.g. for a quiet command's output, stays open.
  response.on('timeout', (socket: Socket) => {
    if (!request.complete || socket.writableLength > 0) socket.destroy();
  });
  request.on('error', () => {}); // the response's 'close' handles it
  response.on('error', () => {});
  try {
    const { route, exchange } = resolveRoute(routes, request, response, gone.signal);
    await route(exchange);
  } catch (cause) {
    if (gone.signal.aborted) return;
    const error = cause instanceof MayflyError ? cause : toInternalError(cause);
    if (error.code === 'internal') logger.error({ err: cause, url: request.url }, 'the relay failed');
    // A half-sent answer can only be cut off, so that its reader does not take it for complete.
    if (response.headersSent) response.destroy();
    else answerError(response, error);
  } finally {
    if (!request.complete) request.resume(); // or the next request could not be read
  }
}

function resolveRoute(
  routes: RelayOptions['routes'],
  request: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): { route: Route; exchange: Exchange } {
  const target = request.url ?? '';
  const url = parseUrl(target);
  const [name = '', ...segments] = url.pathname.slice(1).split('/').map(decodeSegment);
  const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
  if (!route) throw new MayflyError('not_found', 'The relay has nothing at that path.');
  const method = request.method ?? '';
  return { route, exchange: { request, response, method, segments, query: url.searchParams, target, signal } };
}

function parseUrl(target: string): URL {
  if (target.startsWith('/') && URL.canParse(target, 'https://relay')) return new URL(target, 'https://relay');
  throw new MayflyError('not_found', 'The relay has nothing at that path.');
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new MayflyError('not_found', 'The relay has nothing at that path: its percent-encoding is broken.');
  }
}

function toInternalError(cause: unknown): MayflyError {
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
