import { isIP } from 'node:net';
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServer,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { ApiKey } from '../../model/access/api-key.ts';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Store } from '../../store/connect.ts';
import type { Caller, RecentUndos } from '../lib/call.ts';
import { createPresentation } from '../lib/showing.ts';
import type { MakeServer } from './live-session.ts';
import { replayStream } from './replay.ts';
import { Sessions } from './sessions.ts';

/** Base URL of the tools' requests, which never leave this process. */
const BASE_URL = 'http://mayfly.internal';

export type McpServerOf = (caller: Caller) => McpServer;

interface Deps {
  store: Store;
  logger: Logger;
  /** API that tools call on behalf of their caller. */
  app: Parameters<typeof ownFetch>[0];
  serverOf: McpServerOf;
}

/** MCP over HTTP: 2026-07-28 per request, 2025-11-25 in sessions. Tools use the caller's key. */
export class McpEndpoint {
  readonly #sessions: Sessions;
  readonly #fetch: typeof fetch;
  readonly #modern: ReturnType<typeof createMcpHandler>['fetch'];

  constructor(private readonly deps: Deps) {
    const { app, logger, serverOf } = deps;
    this.#sessions = new Sessions(deps);
    this.#fetch = ownFetch(app);
    const { fetch: modern } = createMcpHandler(
      ({ authInfo, requestInfo }) => serverOf(this.#callerOf(requestInfo, authInfo?.token ?? '')),
      {
        legacy: 'reject',
        maxRequestBodySize: LIMITS.mcp.bodyBytes,
        onerror: (error) => logger.debug({ err: error }, 'MCP'),
      },
    );
    this.#modern = modern;
  }

  /** @param body JSON of a POST @param token the key itself */
  async answer(request: Request, body: unknown, key: ApiKey, token: string): Promise<Response> {
    const { id: clientId, scopes } = key;
    if (!(await isLegacyRequest(request, body)))
      return this.#modern(request, { authInfo: { token, clientId, scopes }, parsedBody: body });
    const make: MakeServer = (session, made) => this.deps.serverOf(this.#callerOf(request, token, session, made));
    return this.#inSession(request, body, key, make);
  }

  async #inSession(request: Request, body: unknown, key: ApiKey, make: MakeServer): Promise<Response> {
    if (isInitializeRequest(body)) return this.#sessions.open(key, make, request, body);
    const id = request.headers.get('Mcp-Session-Id');
    if (id === null) return rpcError(400, 'Bad Request: the header Mcp-Session-Id is missing; initialize gives one.');
    const session = await this.#sessions.of(key, id, make);
    if (!session) return rpcError(404, 'Session not found: initialize opens another one.');
    const lastEventId = request.headers.get('Last-Event-ID');
    if (request.method === 'GET' && lastEventId) {
      const rest = await replayStream(this.deps.store.mcpEvents, id, lastEventId, request.signal);
      return rest ?? rpcError(404, 'There is no such stream any more: send the request again.');
    }
    if (request.method !== 'DELETE') return session.handle(request, body);
    await this.#sessions.close(id);
    return new Response(null, { status: 200 });
  }

  /** Makes the caller. Its links are below the origin of the request, which origin.ts checks before the key. */
  #callerOf(request: Request | undefined, apiKey: string, session: string | null = null, made?: RecentUndos): Caller {
    const client = new MayflyClient({ baseUrl: BASE_URL, apiKey, fetch: this.#fetch });
    const showing = createPresentation(request ? new URL(request.url).origin : '', apiKey);
    return { client, showing, session, ...(made && { made }) };
  }
}

/** Formats a session error like the SDK's transport. */
function rpcError(status: number, message: string): Response {
  const code = status === 404 ? -32_001 : -32_000;
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}

/** Returns `fetch` for routes of this process: no request leaves it, and an abort rejects as on a network. */
export function ownFetch(app: { fetch: (request: Request) => Response | Promise<Response> }): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { signal } = request;
    signal.throwIfAborted();
    const response = await app.fetch(request);
    signal.throwIfAborted();
    return response.body
      ? new Response(response.body.pipeThrough(new TransformStream(), { signal }), response)
      : response;
  };
}

/**
 * Refuses requests of web pages by DNS rebinding: with another server's name, or from a page of another origin.
 * Addresses are safe: DNS cannot rebind them.
 * @param names of the API, besides those of loopback
 * @throws MayflyError forbidden
 */
export function refuseForeignOrigin({ headers }: Request, names: readonly string[]): void {
  const host = headers.get('Host') ?? undefined;
  if (!isAddress(host) && !validateHostHeader(host, [...localhostAllowedHostnames(), ...names]).ok) {
    throw new MayflyError('forbidden', 'The header `Host` names something else than this API; see MAYFLY_API_NAMES.');
  }
  const origin = headers.get('Origin') ?? undefined;
  if (!validateOriginHeader(origin, [...localhostAllowedOrigins(), ...names]).ok) {
    throw new MayflyError('forbidden', 'The header `Origin` names a page that may not ask here; see MAYFLY_API_NAMES.');
  }
}

function isAddress(host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false;
  return isIP(new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '')) !== 0;
}
