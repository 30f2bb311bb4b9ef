import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { PortAddress } from '../../model/ports/port-address.ts';
import { listen } from '../listen.ts';
import { earlyProblem, toParserError } from '../problems/problem.ts';
import { forward, forwardUpgrade } from './forward.ts';
import { COOKIE_NAME, TOKEN_HEADER } from './headers.ts';
import { type AuthorizedRequest, type IngressDeps, PortAccess } from './port-access.ts';
import { refuse } from './refusal.ts';
import { preflightHeaders } from './request-headers.ts';

/** Limit from the first byte of a request to the end of its headers, ms; the default of Node. */
const HEADERS_MS = 60_000;
/**
 * Keep-alive of idle connections, ms: longer than that of a proxy in front (nginx: 60 s), which would otherwise reuse a
 * closing one.
 */
const UNUSED_MS = 65_000;

/**
 * HTTP/1.1 server for requests to open ports of sandboxes. It is apart from the API: a listener of its own, no API
 * paths, and responses that guests' programs write.
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
      socket.end(earlyProblem(toParserError(error, LIMITS.ports.headerBytes)).text(), () => socket.destroy());
    });
  }

  /** @param at listening address, and its public URL; undefined: `http://localhost` and the port */
  static async start(
    deps: Omit<IngressDeps, 'addresses'>,
    { address, port, url }: { address: string; port: number; url: string | undefined },
  ): Promise<Ingress> {
    const server = createServer({
      requestTimeout: 0, // uploads have no time limit
      headersTimeout: HEADERS_MS,
      keepAliveTimeout: UNUSED_MS,
      maxHeaderSize: LIMITS.ports.headerBytes,
      requireHostHeader: false,
    });
    const bound = await listen(server, { address, port, setting: 'MAYFLY_INGRESS_PORT' });
    return new Ingress(server, { ...deps, addresses: new PortAddress(url ?? `http://localhost:${bound}`) });
  }

  /** Public addresses of open ports. */
  get addresses(): PortAddress {
    return this.deps.addresses;
  }

  /** Stops listening, and ends all requests. */
  close(): void {
    this.server.close();
    this.#access.traffic.close();
    this.server.closeAllConnections();
  }

  async #answer(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { socket } = incoming;
    this.#answering.add(socket);
    answer.once('close', () => this.#answering.delete(socket));
    await this.#runOrRefuse(answer, async () => {
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

  /** Handles every request for an upgrade; Node has not read its body. */
  async #upgrade(incoming: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    const answer = new ServerResponse(incoming);
    answer.shouldKeepAlive = false;
    answer.assignSocket(socket);
    answer.once('finish', () => socket.end());
    await this.#runOrRefuse(answer, async () => {
      const { headers, method } = incoming;
      if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0) {
        throw new MayflyError('malformed_request', 'A request with a body cannot ask for an upgrade.');
      }
      // A request for another protocol, such as h2c, may be answered in HTTP/1.1: RFC 9110 §7.8.
      const isWebSocket = method === 'GET' && /(^|,)\s*websocket\s*(,|$)/i.test(headers.upgrade ?? '');
      const entry = await this.#access.admit(incoming, await this.#access.portOf(incoming));
      const forwarding = { access: this.#access, entry, addresses: this.deps.addresses };
      if (isWebSocket) await forwardUpgrade(incoming, answer, forwarding, head);
      else await forward(incoming, answer, forwarding);
    });
  }

  async #runOrRefuse(answer: ServerResponse, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof MayflyError) && !answer.destroyed)
        this.deps.logger.error({ err: error }, 'a request to a port failed');
      refuse(answer, error);
    }
  }
}

/** True for a navigation with a token in the address: history, referrers and bookmarks must not get it. */
function shouldRedirect({ method, headers }: IncomingMessage, { route, principal }: AuthorizedRequest): boolean {
  const isReading = method === 'GET' || method === 'HEAD';
  const isByAddress = principal.tokenId !== null && route.token !== undefined && headers[TOKEN_HEADER] === undefined;
  return isReading && route.form === 'host' && isByAddress;
}

/** Redirects to the same address without the token, which becomes a cookie of this host name. */
function redirect(answer: ServerResponse, { route, principal }: AuthorizedRequest, addresses: PortAddress): void {
  const seconds = Math.max(0, Math.floor(((principal.expiresAt ?? 0) - Date.now()) / 1_000));
  answer.writeHead(303, {
    Location: addresses.originOf(route) + route.path,
    'Set-Cookie': `${COOKIE_NAME}=${route.token}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Lax`,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
  });
  answer.end();
}
