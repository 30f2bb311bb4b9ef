import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { PortAddress } from '../../model/ports/port-address.ts';
import { listen } from '../listen.ts';
import { earlyProblem, refusedBytes } from '../problems/problem.ts';
import { forward, forwardUpgrade } from './forward.ts';
import { COOKIE_NAME, TOKEN_HEADER } from './headers.ts';
import { type Entry, type IngressDeps, PortAccess } from './port-access.ts';
import { refuse } from './refusal.ts';
import { preflightHeaders } from './request-headers.ts';

/** From the first byte of a request to the end of its headers; Node's own default. Milliseconds. */
const HEADERS_MS = 60_000;
/** Longer than a proxy in front keeps an unused connection (nginx: 60 s), so that none is used in the moment it is closed. Milliseconds. */
const UNUSED_MS = 65_000;

/**
 * The door for what comes from browsers and other callers to open ports of sandboxes, on HTTP/1.1. It is no part of the
 * API: it has a listener of its own, knows no other path, and answers with what programs of guests say.
 */
export class Ingress {
  readonly #access: PortAccess;
  readonly #answering = new WeakSet<Duplex>();

  private constructor(
    private readonly server: Server,
    private readonly deps: IngressDeps,
  ) {
    this.#access = new PortAccess(deps);
    this.server.on('request', (incoming, answer) => void this.#answer(incoming, answer));
    this.server.on('upgrade', (incoming, socket, head) => void this.#upgrade(incoming, socket as Socket, head));
    this.server.on('connect', (_incoming, socket) => socket.destroy());
    this.server.on('checkExpectation', (_incoming, answer) => {
      refuse(
        answer,
        new MayflyError('expectation_failed', 'The header `Expect` asks for something else than 100-continue.'),
      );
    });
    this.server.on('clientError', (error, socket) => {
      if (!socket.writable || this.#answering.has(socket)) return void socket.destroy();
      socket.end(earlyProblem(refusedBytes(error, LIMITS.ports.headerBytes)).text(), () => socket.destroy());
    });
  }

  /** @param at where it listens, and the URL by which its callers reach that; undefined: `http://localhost` and its port */
  static async start(
    deps: Omit<IngressDeps, 'addresses'>,
    { address, port, url }: { address: string; port: number; url: string | undefined },
  ): Promise<Ingress> {
    const server = createServer({
      requestTimeout: 0, // an upload takes as long as it takes
      headersTimeout: HEADERS_MS,
      keepAliveTimeout: UNUSED_MS,
      maxHeaderSize: LIMITS.ports.headerBytes,
      requireHostHeader: false,
    });
    const bound = await listen(server, { address, port, setting: 'MAYFLY_INGRESS_PORT' });
    return new Ingress(server, { ...deps, addresses: new PortAddress(url ?? `http://localhost:${bound}`) });
  }

  /** Where open ports are found. */
  get addresses(): PortAddress {
    return this.deps.addresses;
  }

  /** Ends what goes through it, and listens no more. */
  close(): void {
    this.server.close();
    this.#access.traffic.close();
    this.server.closeAllConnections();
  }

  async #answer(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { socket } = incoming;
    this.#answering.add(socket);
    answer.once('close', () => this.#answering.delete(socket));
    await this.#guarded(answer, async () => {
      const found = await this.#access.portOf(incoming);
      const isPreflight =
        incoming.method === 'OPTIONS' && incoming.headers['access-control-request-method'] !== undefined;
      if (found?.known.port.cors && isPreflight) {
        this.#access.traffic.count(found.route);
        return void answer.writeHead(204, preflightHeaders(incoming)).end();
      }
      const entry = await this.#access.admit(incoming, found);
      if (shouldRedirect(incoming, entry)) return redirect(answer, entry, this.deps.addresses);
      await forward(incoming, answer, { access: this.#access, entry, addresses: this.deps.addresses });
    });
  }

  /** Node hands over everything that asks for an upgrade, with its body unread. */
  async #upgrade(incoming: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    const answer = new ServerResponse(incoming);
    answer.shouldKeepAlive = false;
    answer.assignSocket(socket);
    answer.once('finish', () => socket.end());
    await this.#guarded(answer, async () => {
      const { headers, method } = incoming;
      if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0) {
        throw new MayflyError('malformed_request', 'A request with a body cannot ask for an upgrade.');
      }
      // What asks for another protocol, such as h2c, may be answered in this one: RFC 9110 §7.8.
      const isWebSocket = method === 'GET' && /(^|,)\s*websocket\s*(,|$)/i.test(headers.upgrade ?? '');
      const entry = await this.#access.admit(incoming, await this.#access.portOf(incoming));
      const forwarding = { access: this.#access, entry, addresses: this.deps.addresses };
      if (isWebSocket) await forwardUpgrade(incoming, answer, forwarding, head);
      else await forward(incoming, answer, forwarding);
    });
  }

  async #guarded(answer: ServerResponse, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof MayflyError) && !answer.destroyed)
        this.deps.logger.error({ err: error }, 'a request to a port failed');
      refuse(answer, error);
    }
  }
}

/** Whether it is somebody who goes there with a token in the address: that is to be in no history, referrer or bookmark. */
function shouldRedirect({ method, headers }: IncomingMessage, { route, principal }: Entry): boolean {
  const isReading = method === 'GET' || method === 'HEAD';
  const isByAddress = principal.tokenId !== null && route.token !== undefined && headers[TOKEN_HEADER] === undefined;
  return isReading && route.form === 'host' && isByAddress;
}

/** To the same without the token, which the browser keeps for this name alone. */
function redirect(answer: ServerResponse, { route, principal }: Entry, addresses: PortAddress): void {
  const seconds = Math.max(0, Math.floor(((principal.expiresAt ?? 0) - Date.now()) / 1_000));
  answer.writeHead(303, {
    Location: addresses.originOf(route) + route.path,
    'Set-Cookie': `${COOKIE_NAME}=${route.token}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Lax`,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
  });
  answer.end();
}
