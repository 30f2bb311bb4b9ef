import { createMcpHandler, isInitializeRequest, isLegacyRequest, type McpServer } from '@modelcontextprotocol/server';
import type { Context } from 'hono';
import { MayflyClient } from '../../client/mayfly-client.ts';
import type { Caller, Made } from '../../mcp/lib/call.ts';
import { showingOf } from '../../mcp/lib/showing.ts';
import { LIMITS } from '../../model/limits.ts';
import type { KeyWatch } from '../../services/streams/key-watch.ts';
import { presentedKey, requires } from '../http/auth.ts';
import { limitBody, readJson } from '../http/body.ts';
import type { App, AppDeps, Env } from '../http/context.ts';
import type { MakeServer } from './live-session.ts';
import { ownFetch } from './own-fetch.ts';
import { replayed } from './replay.ts';
import { Sessions } from './sessions.ts';

/** Of the requests that tools make: they never leave this process. */
const BASE_URL = 'http://mayfly.internal';

export type McpServerOf = (caller: Caller) => McpServer;

/**
 * The door of agents, MCP over HTTP: 2026-07-28 request by request, 2025-11-25 in sessions. A tool asks this API as its caller
 * would, with the caller's key, so whatever holds for the API holds here.
 */
export function mcpRoutes(app: App, { store, logger }: AppDeps, keys: KeyWatch, serverOf: McpServerOf): void {
  const fetch = ownFetch(app);
  const callerOf = (origin: string, apiKey: string, session: string | null = null, made?: Made): Caller => ({
    client: new MayflyClient({ baseUrl: BASE_URL, apiKey, fetch }),
    showing: showingOf(origin, apiKey),
    session,
    ...(made && { made }),
  });
  const onerror = (error: Error) => logger.debug({ err: error }, 'MCP');
  const { fetch: modern } = createMcpHandler(
    ({ authInfo, requestInfo }) => serverOf(callerOf(originOf(requestInfo), authInfo?.token ?? '')),
    {
      legacy: 'reject',
      maxRequestBodySize: LIMITS.mcp.bodyBytes,
      onerror,
    },
  );
  const sessions = new Sessions({ store, logger });

  app.post('/mcp', limitBody(LIMITS.mcp.bodyBytes), readJson());
  app.on(['GET', 'POST', 'DELETE'], '/mcp', requires('sandboxes:read'), async (c) => {
    const request = c.req.raw;
    const body = request.method === 'POST' ? await c.req.json<unknown>() : undefined;
    const token = presentedKey(c) ?? '';
    const { id: clientId, scopes } = c.get('apiKey');
    const answer = (await isLegacyRequest(request, body))
      ? inSession(c, sessions, body, (session, made) => serverOf(callerOf(originOf(request), token, session, made)))
      : modern(request, { authInfo: { token, clientId, scopes }, parsedBody: body });
    return keys.cutWithKey(c.var, await answer);
  });

  async function inSession(c: Context<Env>, all: Sessions, body: unknown, make: MakeServer) {
    const key = c.get('apiKey');
    if (isInitializeRequest(body)) return all.open(key, make, c.req.raw, body);
    const id = c.req.header('Mcp-Session-Id');
    if (id === undefined)
      return rpcError(400, 'Bad Request: the header Mcp-Session-Id is missing; initialize gives one.');
    const session = await all.of(key, id, make);
    if (!session) return rpcError(404, 'Session not found: initialize opens another one.');
    const lastEventId = c.req.header('Last-Event-ID');
    if (c.req.method === 'GET' && lastEventId) {
      const rest = await replayed(store.mcpEvents, id, lastEventId, c.req.raw.signal);
      return rest ?? rpcError(404, 'There is no such stream any more: send the request again.');
    }
    if (c.req.method !== 'DELETE') return session.handle(c.req.raw, body);
    await all.close(id);
    return new Response(null, { status: 200 });
  }
}

/** Under which the caller has reached the API: looked at before the key (origin.ts). */
function originOf(request: Request | undefined): string {
  return request ? new URL(request.url).origin : '';
}

/** As the transport of the SDK says what is wrong with a session. */
function rpcError(status: number, message: string): Response {
  const code = status === 404 ? -32_001 : -32_000;
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}
