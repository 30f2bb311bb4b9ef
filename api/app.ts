import { OpenAPIHono } from '@hono/zod-openapi';
import { requestId } from 'hono/request-id';
import { Registry } from 'prom-client';
import { McpEndpoint, type McpServerOf, refuseForeignOrigin } from '../mcp/http/mcp-door.ts';
import type { Caller } from '../mcp/lib/call.ts';
import { createMcpServer } from '../mcp/mcp-server.ts';
import { LIMITS } from '../model/limits.ts';
import { PortAddress } from '../model/ports/port-address.ts';
import { Screens } from '../services/desktop/screens.ts';
import { EventIntake } from '../services/intake/acceptance.ts';
import { claimCounter } from '../services/metrics/pool-metrics.ts';
import { PoolDoor } from '../services/pool-door.ts';
import { AuditThrottle } from '../services/ports/audit-throttle.ts';
import { RunWatch } from '../services/runs/run-watch.ts';
import { InputSchemas } from '../services/schema/input-schemas.ts';
import { type KeyWatch, Streams } from '../services/streams/streams.ts';
import { runWithRequestId } from '../store/audit/request-id.ts';
import { credentialRoutes } from './access/credentials.ts';
import { hostRoutes } from './access/hosts.ts';
import { keyRoutes } from './access/keys.ts';
import { approvalPageRoutes } from './approvals/approval-page.ts';
import { approvalStreamRoutes } from './approvals/approval-stream.ts';
import { approvalRoutes, policyRoutes } from './approvals/approvals.ts';
import { auditRoutes } from './audit/audit.ts';
import { commandEventRoutes, commandRoutes } from './commands/commands.ts';
import { docsRoutes } from './description/docs-page.ts';
import { openApiDocument } from './description/openapi.ts';
import { desktopRoutes } from './desktop/desktop.ts';
import { diffRoutes } from './diff/diff.ts';
import { fileRoutes } from './files/files.ts';
import { functionRoutes } from './functions/functions.ts';
import { HOOK_PATH, hookEndpointRoutes } from './hooks/hook-door.ts';
import { hookRoutes } from './hooks/hooks.ts';
import { dropBodyOfHead, limitBody, readJson } from './http/body.ts';
import { type App, type AppDeps, authenticate, type Env, open, presentedKey, requires } from './http/context.ts';
import { routedPath } from './http/file-path.ts';
import { errorHandler, refuseUnknownRoutes } from './http/problem.ts';
import type { Route } from './http/route.ts';
import { contextRoutes, imageRoutes } from './images/images.ts';
import { healthRoutes, measureRequests, metricsRoutes } from './monitoring/health.ts';
import { playbookRoutes } from './playbooks/playbooks.ts';
import { poolRoutes } from './pools/pools.ts';
import { portRoutes } from './ports/ports.ts';
import { projectRoutes } from './projects/projects.ts';
import { bulkRoutes } from './replays/bulk.ts';
import { replayRoutes } from './replays/replays.ts';
import { receiptRoutes } from './runs/receipts.ts';
import { runEventRoutes, runRoutes } from './runs/runs.ts';
import { triggerRoutes } from './runs/trigger.ts';
import { sandboxEventRoutes } from './sandboxes/sandbox-events.ts';
import { pauseRoutes, sandboxRoutes } from './sandboxes/sandboxes.ts';
import { usageRoutes } from './sandboxes/usage.ts';
import { scheduleRoutes } from './schedules/schedules.ts';
import { secretRoutes } from './secrets/secrets.ts';
import { restoreRoutes } from './snapshots/restore.ts';
import { snapshotRoutes } from './snapshots/snapshots.ts';
import { captureRoutes } from './sources/captures.ts';
import { sourceRoutes } from './sources/sources.ts';
import { templateRoutes } from './templates/make-template.ts';
import { waitpointEndpointRoutes, waitpointRoutes } from './waitpoints/waitpoints.ts';
import { deliveryRoutes } from './webhooks/deliveries.ts';
import { endpointRoutes } from './webhooks/endpoints.ts';

/** Serves MCP. Tools call the API with the caller's key, under the same rules. */
export function mcpRoutes(app: App, { store, logger }: AppDeps, keys: KeyWatch, serverOf: McpServerOf): void {
  const door = new McpEndpoint({ store, logger, app, serverOf });
  app.post('/mcp', limitBody(LIMITS.mcp.bodyBytes), readJson());
  app.on(['GET', 'POST', 'DELETE'], '/mcp', requires('sandboxes:read'), async (c) => {
    const body = c.req.method === 'POST' ? await c.req.json<unknown>() : undefined;
    const answer = door.answer(c.req.raw, body, c.get('apiKey'), presentedKey(c) ?? '');
    return keys.cutWithKey(c.var, await answer);
  });
}

/**
 * Default address of open ports on a local machine: RFC 6761 §6.3 resolves every name below `localhost` to the
 * loopback.
 */
const DEFAULT_PORT_URL = 'http://localhost:7997';

const ROUTES: Route[] = [
  ...sandboxRoutes,
  ...sandboxEventRoutes,
  ...pauseRoutes,
  ...snapshotRoutes,
  ...diffRoutes,
  ...restoreRoutes,
  ...credentialRoutes,
  ...commandRoutes,
  ...commandEventRoutes,
  ...fileRoutes,
  ...portRoutes,
  ...desktopRoutes,
  ...usageRoutes,
  ...auditRoutes,
  ...hostRoutes,
  ...sourceRoutes,
  ...captureRoutes,
  ...templateRoutes,
  ...imageRoutes,
  ...contextRoutes,
  ...playbookRoutes,
  ...functionRoutes,
  ...triggerRoutes,
  ...runRoutes,
  ...secretRoutes,
  ...receiptRoutes,
  ...runEventRoutes,
  ...waitpointRoutes,
  ...waitpointEndpointRoutes,
  ...replayRoutes,
  ...bulkRoutes,
  ...hookRoutes,
  ...endpointRoutes,
  ...deliveryRoutes,
  ...scheduleRoutes,
  ...keyRoutes,
  ...projectRoutes,
  ...poolRoutes,
  ...policyRoutes,
  ...approvalStreamRoutes,
  ...approvalRoutes,
];

/** Creates the HTTP API as one Hono app. @param acceptance intake that other servers of the process share */
export function createApp(deps: AppDeps, acceptance = new EventIntake(deps, new InputSchemas())): App {
  const app: App = new OpenAPIHono<Env>({ getPath: routedPath });
  const registry = deps.metrics ?? new Registry();
  const streams = new Streams();

  app.use(requestId());
  app.use((c, next) => runWithRequestId(c.get('requestId'), next));
  if (deps.traceRequest) app.use(deps.traceRequest);
  app.use(measureRequests(registry));
  app.use(dropBodyOfHead);
  app.onError(errorHandler(deps));
  app.use('/mcp', (c, next) => {
    refuseForeignOrigin(c.req.raw, deps.names ?? []);
    return next();
  });
  const own = {
    acceptance,
    poolDoor: new PoolDoor(deps, claimCounter(registry)),
    portAddress: deps.portAddress ?? new PortAddress(DEFAULT_PORT_URL),
    runWatch: new RunWatch(deps.store.runs),
    streams,
    screens: new Screens(),
    connections: new AuditThrottle(),
    looks: new AuditThrottle(),
  };
  app.use(authenticate(app, { ...deps, ...own }));
  refuseUnknownRoutes(app);
  for (const define of ROUTES) define(app);
  if (deps.hookPlace?.isHere ?? true) hookEndpointRoutes(app, deps, acceptance);
  else app.use(HOOK_PATH, open); // unknown hook paths reveal nothing about keys
  healthRoutes(app, deps);
  const { mcpServerOf = (caller: Caller) => createMcpServer({ caller, version: deps.version }) } = deps;
  mcpRoutes(app, deps, streams.keys, mcpServerOf);
  metricsRoutes(app, deps, registry);
  docsRoutes(app);
  approvalPageRoutes(app);
  let document: ReturnType<typeof openApiDocument> | undefined; // built once, since it is public
  app.get('/openapi.json', open, (c) => {
    document ??= openApiDocument(app, deps.version);
    return c.json(document);
  });
  return app;
}
