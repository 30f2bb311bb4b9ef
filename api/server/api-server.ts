import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Logger } from 'pino';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { earlyProblem, refusedBytes } from '../../services/problems/problem.ts';
import type { App } from '../http/context.ts';
import { isFilePath } from '../http/file-path.ts';

const CONNECTION = /^\/v1\/sandboxes\/[^/?]+\/ports\/[^/?]+\/connect(?:\?|$)/;
const CONTEXT = /^\/v1\/image-contexts\/[^/?]+(?:\?|$)/;

/** Whether a request's body is no document: of any size, type and duration, and never held as a whole. */
function hasStreamedBody(path: string): boolean {
  return isFilePath(path) || CONNECTION.test(path) || CONTEXT.test(path);
}

/**
 * Bounds how long a request's body may take, so that who sends none holds no connection. The content of a file takes as long as
 * it takes, and a relay ends one that stalls; what is left of one that was answered early is not waited for (@hono/node-server).
 * @param late is called once when the body has not come in that time, milliseconds
 */
function boundBody(incoming: IncomingMessage, bodyMs: number, late: () => void): void {
  if (hasStreamedBody(incoming.url ?? '')) return;
  const timer = setTimeout(() => incoming.complete || late(), bodyMs);
  for (const event of ['end', 'close']) incoming.once(event, () => clearTimeout(timer));
}

/** From the first byte of a request to the end of its headers; Node's own default. Milliseconds. */
const HEADERS_MS = 60_000;
/** From there to the end of a body that is no file's: at most 8 MiB, a megabit a second. Milliseconds. */
const BODY_MS = 60_000;
/** How long what a refused client still sends is read, so that it comes to read why. Milliseconds. */
const LINGER_MS = 2_000;

/**
 * The API on HTTP/1.1. What never becomes a request is answered with a problem too. An upload takes as long as it takes,
 * where Node gives a request 300 s; other bodies have their time.
 * @param bodyMs of a body that is no file's, milliseconds. `@default` 60 s
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
    // A request without Host is refused by what reads its URL.
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
    if (refused.has(socket)) return; // its further bytes are no better
    refused.add(socket);
    const before = answering.get(socket);
    const refuseNow = () => refuse(socket, refusedBytes(error));
    // What is wrong may come behind a request that is being answered: answers keep the order of requests.
    if (!before || before.closed) refuseNow();
    else if (before.req.complete) before.once('close', refuseNow);
    else if (before.headersSent) socket.destroy();
    else refuseNow();
  });
  return server;
}

/** Says why over the bare connection, once, and ends it. */
function refuse(socket: Duplex, error: MayflyError): void {
  if (!socket.writable) return void socket.destroy();
  socket.on('error', () => socket.destroy()); // who is refused may have left
  socket.resume();
  socket.end(earlyProblem(error).text());
  const linger = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(linger));
}

function refuseExpectation(_incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { status, headers, body } = earlyProblem(
    new MayflyError('expectation_failed', 'The header `Expect` asks for something else than 100-continue.'),
  );
  // Its body may be on the way or not: nobody can tell, so the connection ends here.
  outgoing.writeHead(status, headers).end(body);
}

function asMayflyError(error: unknown, logger: Pick<Logger, 'error'>): MayflyError {
  if (error instanceof RequestError) {
    return new MayflyError('malformed_request', `The request cannot be read: ${error.message}.`, { cause: error });
  }
  logger.error({ err: error }, 'request failed');
  return new MayflyError('internal', 'Something went wrong here that nobody foresaw.', { cause: error });
}
