import {
  type JSONRPCMessage,
  type McpServer,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { McpEvents } from '../../store/mcp/mcp-events.ts';
import { Made } from '../lib/call.ts';
import { StreamEvents } from './stream-events.ts';

/** Makes the server of a session. */
export type MakeServer = (sessionId: string, made: Made) => McpServer;

/** So many cancels are kept for requests that have yet to come. */
const EARLY = 20;

interface Deps {
  events: McpEvents;
  logger: Logger;
}

/** A session as this process has it: opened here, or taken up from the store. */
export class LiveSession {
  readonly #events: StreamEvents;
  readonly #made = new Made();
  /** Requests that were cancelled before they came: each message is an HTTP request of its own. */
  readonly #early = new Set<RequestId>();
  private readonly server: McpServer;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  /** When it was last used here. Milliseconds since 1970. */
  usedAt = Date.now();

  private constructor(
    readonly id: string,
    makeServer: MakeServer,
    private readonly deps: Deps,
  ) {
    this.server = makeServer(id, this.#made);
    this.#events = new StreamEvents(id, deps.events, deps.logger, (requestId) => this.#cancel(requestId));
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      eventStore: this.#events,
      retryInterval: 1_000,
    });
  }

  /** @param opening the `initialize` of its client; its answer is the second of what is returned */
  static async open(
    id: string,
    makeServer: MakeServer,
    deps: Deps,
    opening: { request: Request; body: unknown },
  ): Promise<{ session: LiveSession; response: Response }> {
    const session = new LiveSession(id, makeServer, deps);
    await session.server.connect(session.#transport);
    const handle = () => session.#transport.handleRequest(opening.request, { parsedBody: opening.body });
    return { session, response: await session.#events.during(null, handle) };
  }

  /** Goes on with one that another process had, or this one before it was started anew. */
  static async resume(id: string, makeServer: MakeServer, deps: Deps, params: unknown): Promise<LiveSession> {
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const request = new Request('http://mayfly/mcp', { method: 'POST', headers });
    const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
    const { session, response } = await LiveSession.open(id, makeServer, deps, { request, body });
    await response.text();
    session.#deliver({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return session;
  }

  get isBusy(): boolean {
    return this.#events.isBusy;
  }

  /** One message, or a request for a stream of its own. A request that is under way already is begun again when that is over: what it
   * makes has one idempotency key. */
  async handle(request: Request, body?: unknown): Promise<Response> {
    this.usedAt = Date.now();
    const requestId = requestIdOf(body);
    const cancelledId = cancelledIdOf(body);
    if (cancelledId !== null) this.#expect(cancelledId);
    // Of two of one id that are under way at once, the SDK would leave one open for ever.
    if (requestId !== null) await this.#events.over(requestId);
    const handle = () => this.#transport.handleRequest(request, body === undefined ? {} : { parsedBody: body });
    const response = await this.#events.during(requestId, handle);
    if (request.method === 'GET' && response.ok) {
      for (const message of this.#events.listened(request.signal)) await this.#transport.send(message);
    }
    if (requestId !== null && this.#early.delete(requestId)) this.#cancel(requestId);
    if (cancelledId !== null && response.ok) await this.#undo(cancelledId);
    return response;
  }

  /** Also of a request whose answer had just left, or which has yet to come. */
  async #undo(requestId: RequestId): Promise<void> {
    this.#transport.closeSSEStream(requestId);
    await this.#events.forget(requestId);
    await this.#made.undo(requestId).catch((error: unknown) => {
      this.deps.logger.warn({ err: error, sessionId: this.id }, 'what was cancelled too late is not undone');
    });
  }

  /** A request that is on its way through this process, or has yet to come, is cancelled when the SDK knows it. */
  #expect(requestId: RequestId): void {
    this.#early.add(requestId);
    const [oldest] = this.#early;
    if (this.#early.size > EARLY && oldest !== undefined) this.#early.delete(oldest);
  }

  async close(): Promise<void> {
    this.#events.close();
    await this.server.close();
  }

  #cancel(requestId: RequestId): void {
    this.#deliver({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    this.#transport.closeSSEStream(requestId);
    void this.#events.forget(requestId);
  }

  #deliver(message: JSONRPCMessage): void {
    this.#transport.onmessage?.(message);
  }
}

function requestIdOf(body: unknown): RequestId | null {
  if (typeof body !== 'object' || body === null || !('method' in body) || !('id' in body)) return null;
  return typeof body.id === 'string' || typeof body.id === 'number' ? body.id : null;
}

function cancelledIdOf(body: unknown): RequestId | null {
  if (typeof body !== 'object' || body === null || !('method' in body) || !('params' in body)) return null;
  if (body.method !== 'notifications/cancelled') return null;
  const { requestId } = body.params as { requestId?: unknown };
  return typeof requestId === 'string' || typeof requestId === 'number' ? requestId : null;
}
