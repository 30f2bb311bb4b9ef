import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type Duplex, pipeline } from 'node:stream';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { PortAddress } from '../../model/ports/port-address.ts';
import type { AuthorizedRequest, PortAccess } from './port-access.ts';
import { refuse } from './refusal.ts';
import { answerHeaders, requestHeaders } from './request-headers.ts';

/** Time that a program has to close a connection after `Connection: close`, ms. */
const CLOSING_MS = 1_000;

const UPGRADED = { connection: 'Upgrade', upgrade: 'websocket' };

interface Forwarding {
  access: PortAccess;
  entry: AuthorizedRequest;
  addresses: PortAddress;
}

/**
 * Forwards a request to a program, on a connection of its own, which prevents request smuggling. The caller follows
 * redirects.
 * @throws MayflyError as {@link PortAccess.connect}
 */
export async function forward(
  incoming: IncomingMessage,
  answer: ServerResponse,
  forwarding: Forwarding,
): Promise<void> {
  const tunnel = await tunnelFor(answer, forwarding);
  const outgoing = sendRequest(incoming, answer, forwarding, tunnel);
  outgoing.once('upgrade', () => {
    tunnel.destroy();
    refuse(
      answer,
      portFailed(forwarding.entry.route.port, new Error('it switched to a protocol that was not requested')),
    );
  });
  outgoing.once('close', () => {
    // The program may have answered before it has read the whole body: the rest is discarded.
    incoming.unpipe(outgoing);
    incoming.resume();
  });
  const { headers } = incoming;
  const hasBody = headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
  if (hasBody) incoming.pipe(outgoing);
  else outgoing.end();
}

/** Forwards a WebSocket as {@link forward} does. @param head bytes that the caller has sent behind its request */
export async function forwardUpgrade(
  incoming: IncomingMessage,
  answer: ServerResponse,
  forwarding: Forwarding,
  head: Buffer,
): Promise<void> {
  const { route, known } = forwarding.entry;
  const { socket } = incoming;
  const tunnel = await tunnelFor(answer, forwarding);
  const asking = sendRequest(incoming, answer, forwarding, tunnel, UPGRADED);
  asking.on('upgrade', (response, _tunnel, first) => {
    const headers = { ...answerHeaders(response, route, known.port, forwarding.addresses), ...UPGRADED };
    const lines = Object.entries(headers).flatMap(([name, values]) =>
      [values ?? []].flat().map((value) => `${name}: ${value}\r\n`),
    );
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`, 'latin1');
    if (first.length > 0) socket.write(first);
    if (head.length > 0) tunnel.write(head);
    // When one breaks, pipeline destroys the other.
    pipeline(tunnel, socket, () => {});
    pipeline(socket, tunnel, () => {});
  });
  asking.end();
}

/** Opens a tunnel that ends when the access of the request ends, or its caller disconnects. */
async function tunnelFor(answer: ServerResponse, { access, entry }: Forwarding): Promise<Duplex> {
  const { route, known, principal } = entry;
  const stop = new AbortController();
  const { socket } = answer;
  if (answer.destroyed) throw new Error('the caller has left');
  const over = access.traffic.add({
    target: route,
    token: { secret: principal.tokenId === null ? null : known.port.secret, apiKeyId: principal.actor.apiKeyId },
    expiresAt: principal.expiresAt,
    end: (why) => {
      stop.abort(why);
      socket?.destroy();
    },
  });
  const onClose = () => {
    over();
    if (!answer.writableFinished) stop.abort(new Error('the caller has left'));
  };
  answer.once('close', onClose);
  return access.connect(entry, stop.signal);
}

/** Sends the request through a tunnel, and passes on every response but that to an upgrade. */
function sendRequest(
  incoming: IncomingMessage,
  answer: ServerResponse,
  forwarding: Forwarding,
  tunnel: Duplex,
  more: Record<string, string> = {},
): ClientRequest {
  const { entry, addresses } = forwarding;
  const { route, known } = entry;
  try {
    const asking = request({
      createConnection: () => tunnel,
      method: incoming.method,
      path: route.path,
      headers: { ...requestHeaders(incoming, route, known.port, addresses), ...more },
      setHost: false,
      maxHeaderSize: LIMITS.ports.headerBytes,
    });
    asking.on('response', (response) => respond(response, answer, forwarding, tunnel));
    asking.on('error', (cause) => {
      if (!answer.writableEnded) refuse(answer, portFailed(route.port, cause));
    });
    return asking;
  } catch (cause) {
    // Node reads some headers and paths that it refuses to write.
    tunnel.destroy();
    throw new MayflyError('malformed_request', 'The request has bytes that cannot be passed on.', { cause });
  }
}

function respond(
  response: IncomingMessage,
  answer: ServerResponse,
  { entry, addresses }: Forwarding,
  tunnel: Duplex,
): void {
  const { route, known } = entry;
  const { statusCode = 502 } = response;
  try {
    answer.writeHead(statusCode, answerHeaders(response, route, known.port, addresses));
  } catch (cause) {
    tunnel.destroy();
    refuse(answer, portFailed(route.port, cause));
    return;
  }
  answer.flushHeaders(); // an event stream may be silent for long
  pipeline(response, answer, () => {});
  response.once('end', () => {
    const late = setTimeout(() => tunnel.destroy(), CLOSING_MS);
    tunnel.once('close', () => clearTimeout(late));
  });
}

function portFailed(port: number, cause: unknown): MayflyError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new MayflyError('port_failed', `Port ${port} did not answer: ${why}.`, { cause });
}
