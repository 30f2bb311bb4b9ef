import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Logger } from 'pino';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { earlyProblem, toParserError } from '../../services/problems/problem.ts';
import type { App } from '../http/context.ts';
import { isFilePath } from '../http/file-path.ts';

const CONNECTION = /^\/v1\/sandboxes\/[^/?]+\/ports\/[^/?]+\/connect(?:\?|$)/;
const CONTEXT = /^\/v1\/image-contexts\/[^/?]+(?:\?|$)/;

/** True when the request body is streamed: of any size, type and duration. */
function hasStreamedBody(path: string): boolean {
  return isFilePath(path) || CONNECTION.test(path) || CONTEXT.test(path);
}

/**
 * Limits the time of a request body, so that an idle client cannot hold a connection. File content is unlimited; a
 * relay ends a stalled one. The rest of a request that was answered early is not awaited (@hono/node-server).
 * @param bodyMs limit, ms
 * @param late called once when the body is incomplete by then
 */
function boundBody(incoming: IncomingMessage, bodyMs: number, late: () => void): void {
  if (hasStreamedBody(incoming.url ?? '')) return;
  const timer = setTimeout(() => incoming.complete || late(), bodyMs);
  for (const event of ['end', 'close']) incoming.once(event, () => clearTimeout(timer));
}

/** Limit from the first byte of a request to the end of its headers, ms; the default of Node. */
const HEADERS_MS = 60_000;
/** Limit of a body that is not streamed, ms: at most 8 MiB, at 1 Mbit/s. */
const BODY_MS = 60_000;
/** Time to read on after a refusal, ms, so that the client gets to read the response. */
const LINGER_MS = 2_000;

/**
 * Creates the HTTP/1.1 server of the API. Unparsable requests get a problem too. Uploads have no time limit, unlike
 * Node's 300 s; other bodies have one.
 * @param bodyMs limit of a body that is not streamed, ms. `@default` 60 s
 */
export function apiServer(
  { fetch }: Pick<App, 'fetch'>,
  logger: Pick<Logger, 'error'>,
  { bodyMs = BODY_MS }: { bodyMs?: number } = {},
): Server {
  const answering = new WeakMap<Duplex, ServerResponse>();
  const refused = new WeakSet<Duplex>();
  const answer = getRequestListener(fetch, {
    errorHandler: (error) => earlyProblem(asMayflyError(error, logger)).response(),
  });
  const server = createServer(
    // The parser of the URL refuses a request without Host.
    { requestTimeout: 0, headersTimeout: HEADERS_MS, maxHeaderSize: LIMITS.headerBytes, requireHostHeader: false },
    (incoming, outgoing) => {
      answering.set(incoming.socket, outgoing);
      const late = () => {
        if (outgoing.headersSent) return void incoming.socket.destroy();
        refuse(incoming.socket, new MayflyError('request_timeout', 'The body of the request did not arrive in time.'));
      };
      boundBody(incoming, bodyMs, late);
      void answer(incoming, outgoing);
    },
  );
  server.on('checkExpectation', refuseExpectation);
  server.on('connect', ({ socket }: IncomingMessage) =>
    refuse(socket, new MayflyError('method_not_allowed', 'This is no proxy.')),
  );
  server.on('clientError', (error, socket) => {
    if (refused.has(socket)) return; // one response per connection
    refused.add(socket);
    const before = answering.get(socket);
    const refuseNow = () => refuse(socket, toParserError(error));
    // The error may follow a request in progress: responses keep the order of requests.
    if (!before || before.closed) refuseNow();
    else if (before.req.complete) before.once('close', refuseNow);
    else if (before.headersSent) socket.destroy();
    else refuseNow();
  });
  return server;
}

/** Sends a problem over the bare connection, once, and closes it. */
function refuse(socket: Duplex, error: MayflyError): void {
  if (!socket.writable) return void socket.destroy();
  socket.on('error', () => socket.destroy()); // the client may have disconnected
  socket.resume();
  socket.end(earlyProblem(error).text());
  const linger = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(linger));
}

function refuseExpectation(_incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { status, headers, body } = earlyProblem(
    new MayflyError('expectation_failed', 'The header `Expect` asks for something else than 100-continue.'),
  );
  // The client may or may not send the body now, so the connection closes.
  outgoing.writeHead(status, headers).end(body);
}

function asMayflyError(error: unknown, logger: Pick<Logger, 'error'>): MayflyError {
  if (error instanceof RequestError) {
    return new MayflyError('malformed_request', `The request cannot be read: ${error.message}.`, { cause: error });
  }
  logger.error({ err: error }, 'request failed');
  return new MayflyError('internal', 'Something went wrong here that nobody foresaw.', { cause: error });
}
