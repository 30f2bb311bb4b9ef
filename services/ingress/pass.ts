import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type Duplex, pipeline } from 'node:stream';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { PortAddress } from '../../model/ports/port-address.ts';
import { answerHeaders } from './answer-headers.ts';
import type { Entrance, Entry } from './entrance.ts';
import { refuse } from './refusal.ts';
import { requestHeaders } from './request-headers.ts';

/** How long a program that was told so (`Connection: close`) may take to end the connection. Milliseconds. */
const CLOSING_MS = 1_000;

const UPGRADED = { connection: 'Upgrade', upgrade: 'websocket' };

interface Passage {
  entrance: Entrance;
  entry: Entry;
  addresses: PortAddress;
}

/**
 * Has a program answer a request, on a connection of its own: nothing of one request can be taken for part of another.
 * Redirects are the caller's to follow.
 * @throws MayflyError as {@link Entrance.connect}
 */
export async function pass(incoming: IncomingMessage, answer: ServerResponse, passage: Passage): Promise<void> {
  const tunnel = await tunnelFor(answer, passage);
  const asking = ask(incoming, answer, passage, tunnel);
  asking.once('upgrade', () => {
    tunnel.destroy();
    refuse(answer, failed(passage.entry.asked.port, new Error('it switched to a protocol that nobody asked for')));
  });
  asking.once('close', () => {
    // It may have answered before it has read all: what is left is not for it.
    incoming.unpipe(asking);
    incoming.resume();
  });
  const { headers } = incoming;
  const hasBody = headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
  if (hasBody) incoming.pipe(asking);
  else asking.end();
}

/** As {@link pass}, for a WebSocket. @param head what the caller has sent behind its request already */
export async function passUpgrade(
  incoming: IncomingMessage,
  answer: ServerResponse,
  passage: Passage,
  head: Buffer,
): Promise<void> {
  const { asked, known } = passage.entry;
  const { socket } = incoming;
  const tunnel = await tunnelFor(answer, passage);
  const asking = ask(incoming, answer, passage, tunnel, UPGRADED);
  asking.on('upgrade', (response, _tunnel, first) => {
    const headers = { ...answerHeaders(response, asked, known.port, passage.addresses), ...UPGRADED };
    const lines = Object.entries(headers).flatMap(([name, values]) =>
      [values ?? []].flat().map((value) => `${name}: ${value}\r\n`),
    );
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`, 'latin1');
    if (first.length > 0) socket.write(first);
    if (head.length > 0) tunnel.write(head);
    // Whichever breaks, pipeline destroys the other.
    pipeline(tunnel, socket, () => {});
    pipeline(socket, tunnel, () => {});
  });
  asking.end();
}

/** A connection that ends when the request may go on no more, or its caller leaves. */
async function tunnelFor(answer: ServerResponse, { entrance, entry }: Passage): Promise<Duplex> {
  const { asked, known, visitor } = entry;
  const stop = new AbortController();
  const { socket } = answer;
  if (answer.destroyed) throw new Error('the caller has left');
  const over = entrance.traffic.add({
    target: asked,
    token: { secret: visitor.tokenId === null ? null : known.port.secret, apiKeyId: visitor.actor.apiKeyId },
    expiresAt: visitor.expiresAt,
    end: (why) => {
      stop.abort(why);
      socket?.destroy();
    },
  });
  const closed = () => {
    over();
    if (!answer.writableFinished) stop.abort(new Error('the caller has left'));
  };
  answer.once('close', closed);
  return entrance.connect(entry, stop.signal);
}

/** Its answer, where it is none to an upgrade, is passed back. */
function ask(
  incoming: IncomingMessage,
  answer: ServerResponse,
  passage: Passage,
  tunnel: Duplex,
  more: Record<string, string> = {},
): ClientRequest {
  const { entry, addresses } = passage;
  const { asked, known } = entry;
  try {
    const asking = request({
      createConnection: () => tunnel,
      method: incoming.method,
      path: asked.path,
      headers: { ...requestHeaders(incoming, asked, known.port, addresses), ...more },
      setHost: false,
      maxHeaderSize: LIMITS.ports.headerBytes,
    });
    asking.on('response', (response) => respond(response, answer, passage, tunnel));
    asking.on('error', (cause) => {
      if (!answer.writableEnded) refuse(answer, failed(asked.port, cause));
    });
    return asking;
  } catch (cause) {
    // Of a header or a path that Node has read and does not write.
    tunnel.destroy();
    throw new MayflyError('malformed_request', 'The request has bytes that cannot be passed on.', { cause });
  }
}

function respond(
  response: IncomingMessage,
  answer: ServerResponse,
  { entry, addresses }: Passage,
  tunnel: Duplex,
): void {
  const { asked, known } = entry;
  const { statusCode = 502 } = response;
  try {
    answer.writeHead(statusCode, answerHeaders(response, asked, known.port, addresses));
  } catch (cause) {
    tunnel.destroy();
    refuse(answer, failed(asked.port, cause));
    return;
  }
  answer.flushHeaders(); // an event stream may be silent for long
  pipeline(response, answer, () => {});
  response.once('end', () => {
    const late = setTimeout(() => tunnel.destroy(), CLOSING_MS);
    tunnel.once('close', () => clearTimeout(late));
  });
}

function failed(port: number, cause: unknown): MayflyError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new MayflyError('port_failed', `Port ${port} did not answer: ${why}.`, { cause });
}
