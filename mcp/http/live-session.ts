import {
  type JSONRPCMessage,
  type McpServer,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { McpEvents } from '../../store/mcp/mcp-events.ts';
import { RecentUndos } from '../lib/call.ts';
import { StreamEvents } from './stream-events.ts';

/** Creates the server of a session. */
export type MakeServer = (sessionId: string, made: RecentUndos) => McpServer;

/** Maximum number of cancels kept for requests that have not arrived yet. */
const EARLY = 20;

interface Deps {
  events: McpEvents;
  logger: Logger;
}

/** Session in this process: opened here, or resumed from the store. */
export class LiveSession {
  readonly #events: StreamEvents;
  readonly #made = new RecentUndos();
  /** Requests cancelled before they arrived: each message is an HTTP request of its own. */
  readonly #early = new Set<RequestId>();
  private readonly server: McpServer;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  /** Time of the last use here, ms since 1970. */
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

  /** Opens a session. @param opening the client's `initialize`; the result includes its response */
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

  /** Resumes a session of another process, or of this one before a restart. */
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

  /**
   * Handles one message, or a request for a stream of its own. A repeated request waits for the first one, and then
   * runs again: both have the same idempotency key.
   */
  async handle(request: Request, body?: unknown): Promise<Response> {
    this.usedAt = Date.now();
    const requestId = requestIdOf(body);
    const cancelledId = cancelledIdOf(body);
    if (cancelledId !== null) this.#expect(cancelledId);
    // Of two concurrent requests with one id, the SDK would leave one open forever.
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

  /** Undoes a request, even one already answered or not arrived yet. */
  async #undo(requestId: RequestId): Promise<void> {
    this.#transport.closeSSEStream(requestId);
    await this.#events.forget(requestId);
    await this.#made.undo(requestId).catch((error: unknown) => {
      this.deps.logger.warn({ err: error, sessionId: this.id }, 'what was cancelled too late is not undone');
    });
  }

  /** Remembers a request that is in this process but unknown to the SDK, or not arrived yet: it is cancelled later. */
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
