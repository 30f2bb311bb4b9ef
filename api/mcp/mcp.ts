import { McpDoor, type McpServerOf } from '../../mcp/http/mcp-door.ts';
import { LIMITS } from '../../model/limits.ts';
import type { KeyWatch } from '../../services/streams/key-watch.ts';
import { presentedKey, requires } from '../http/auth.ts';
import { limitBody, readJson } from '../http/body.ts';
import type { App, AppDeps } from '../http/context.ts';

/** Serves agents: whatever holds for the API holds for what their tools ask. */
export function mcpRoutes(app: App, { store, logger }: AppDeps, keys: KeyWatch, serverOf: McpServerOf): void {
  const door = new McpDoor({ store, logger, app, serverOf });
  app.post('/mcp', limitBody(LIMITS.mcp.bodyBytes), readJson());
  app.on(['GET', 'POST', 'DELETE'], '/mcp', requires('sandboxes:read'), async (c) => {
    const body = c.req.method === 'POST' ? await c.req.json<unknown>() : undefined;
    const answer = door.answer(c.req.raw, body, c.get('apiKey'), presentedKey(c) ?? '');
    return keys.cutWithKey(c.var, await answer);
  });
}
