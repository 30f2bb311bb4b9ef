import { OpenAPIHono } from '@hono/zod-openapi';
import { requestId } from 'hono/request-id';
import { Registry } from 'prom-client';
import { createMcpServer } from '../mcp/mcp-server.ts';
import { MayflyError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import { PortAddress } from '../model/ports/port-address.ts';
import { onBehalfOf } from '../telemetry/request-id.ts';
import { Acceptance } from './acceptance/acceptance.ts';
import { credentialRoutes } from './access/credentials.ts';
import { hostRoutes } from './access/hosts.ts';
import { keyRoutes } from './access/keys.ts';
import { approvalPageRoutes } from './approvals/approval-page.ts';
import { approvalStreamRoutes } from './approvals/approval-stream.ts';
import { approvalRoutes } from './approvals/approvals.ts';
import { policyRoutes } from './approvals/policies.ts';
import { auditRoutes } from './audit/audit.ts';
import { PoolDoor } from './claims/pool-door.ts';
import { commandEventRoutes } from './commands/command-events.ts';
import { commandRoutes } from './commands/commands.ts';
import { docsRoutes } from './description/docs-page.ts';
import { openApiDocument } from './description/openapi.ts';
import { desktopRoutes } from './desktop/desktop.ts';
import { diffRoutes } from './diff/diff.ts';
import { fileRoutes } from './files/files.ts';
import { functionRoutes } from './functions/functions.ts';
import { InputSchemas } from './functions/schema/input-schemas.ts';
import { hookDoorRoutes } from './hooks/hook-door.ts';
import { hookRoutes } from './hooks/hooks.ts';
import { authenticate } from './http/auth.ts';
import { limitBody, requireJson } from './http/body.ts';
import type { App, AppDeps, Env } from './http/context.ts';
import { routedPath } from './http/file-path.ts';
import { dropBodyOfHead } from './http/head.ts';
import { refuseUnknownMethod } from './http/methods.ts';
import { errorHandler } from './http/problem.ts';
import { refuseInvalid } from './http/validation.ts';
import { contextRoutes } from './images/contexts.ts';
import { imageRoutes } from './images/images.ts';
import { type McpServerOf, mcpRoutes } from './mcp/mcp.ts';
import { refuseForeignOrigin } from './mcp/origin.ts';
import { healthRoutes } from './monitoring/health.ts';
import { measureRequests, metricsRoutes } from './monitoring/metrics.ts';
import { claimCounter } from './monitoring/pool-metrics.ts';
import { playbookRoutes } from './playbooks/playbooks.ts';
import { poolRoutes } from './pools/pools.ts';
import { openPortRoutes } from './ports/open-ports.ts';
import { portRoutes } from './ports/ports.ts';
import { projectRoutes } from './projects/projects.ts';
import { bulkRoutes } from './replays/bulk.ts';
import { replayRoutes } from './replays/replays.ts';
import { resolveSandboxes } from './resources/sandbox-names.ts';
import { receiptRoutes } from './runs/receipts.ts';
import { runEventRoutes } from './runs/run-events.ts';
import { RunWatch } from './runs/run-watch.ts';
import { runRoutes } from './runs/runs.ts';
import { triggerRoutes } from './runs/trigger.ts';
import { pauseRoutes } from './sandboxes/pause.ts';
import { sandboxEventRoutes } from './sandboxes/sandbox-events.ts';
import { sandboxRoutes } from './sandboxes/sandboxes.ts';
import { usageRoutes } from './sandboxes/usage.ts';
import { scheduleRoutes } from './schedules/schedules.ts';
import { secretRoutes } from './secrets/secrets.ts';
import { restoreRoutes } from './snapshots/restore.ts';
import { snapshotRoutes } from './snapshots/snapshots.ts';
import { captureRoutes } from './sources/captures.ts';
import { sourceRoutes } from './sources/sources.ts';
import { Streams } from './streams/streams.ts';
import { templateRoutes } from './templates/templates.ts';
import { waitpointDoorRoutes } from './waitpoints/waitpoint-door.ts';
import { waitpointRoutes } from './waitpoints/waitpoints.ts';
import { deliveryRoutes } from './webhooks/deliveries.ts';
import { endpointRoutes } from './webhooks/endpoints.ts';

/** Paths whose bodies have limits of their own. */
const LARGER = /^\/v1\/(?:images$|functions\/|runs\/)/;

/** Where open ports are found on a machine of one's own: RFC 6761 §6.3 has every name below `localhost` lead to the loopback. */
const DEFAULT_PORT_URL = 'http://localhost:7997';

/**
 * The HTTP API as one Hono app; `app.fetch` is what a server is given.
 * @param acceptance what another server of the process has, too
 */
export function createApp(deps: AppDeps, acceptance = new Acceptance(deps, new InputSchemas())): App {
  const app: App = new OpenAPIHono<Env>({ defaultHook: refuseInvalid, getPath: routedPath });
  const registry = deps.metrics ?? new Registry();
  const streams = new Streams();

  app.use(requestId());
  app.use((c, next) => onBehalfOf(c.get('requestId'), next));
  if (deps.traceRequest) app.use(deps.traceRequest);
  app.use(measureRequests(registry));
  app.use(dropBodyOfHead);
  app.onError(errorHandler(deps));
  app.use('/mcp', refuseForeignOrigin(deps.names ?? []));
  app.use(authenticate(deps, new PoolDoor(deps, claimCounter(registry))));
  app.use(refuseUnknownMethod(app));
  app.use('/v1/images', limitBody(LIMITS.image.bodyBytes));
  app.use('/v1/functions/:name', limitBody(LIMITS.functions.deployBytes));
  app.use('/v1/functions/:name/*', limitBody(LIMITS.functions.eventBytes.max));
  app.use('/v1/runs/*', limitBody(LIMITS.functions.replayBytes));
  app.use('/v1/waitpoints/*', limitBody(LIMITS.functions.waitpoints.bodyBytes));
  const json = requireJson(app);
  app.use('/v1/*', limitBody(LIMITS.bodyBytes, LARGER), json);
  app.use('/mcp', limitBody(LIMITS.mcp.bodyBytes), json);

  resolveSandboxes(app);
  sandboxRoutes(app);
  sandboxEventRoutes(app, streams);
  pauseRoutes(app);
  snapshotRoutes(app);
  diffRoutes(app);
  restoreRoutes(app);
  credentialRoutes(app);
  commandRoutes(app);
  commandEventRoutes(app, streams);
  fileRoutes(app);
  portRoutes(app);
  const addresses = deps.portAddress ?? new PortAddress(DEFAULT_PORT_URL);
  openPortRoutes(app, addresses);
  desktopRoutes(app, addresses);
  usageRoutes(app);
  auditRoutes(app);
  hostRoutes(app, deps);
  sourceRoutes(app);
  captureRoutes(app);
  templateRoutes(app);
  imageRoutes(app);
  contextRoutes(app);
  playbookRoutes(app);
  functionRoutes(app, acceptance.schemas);
  const watch = new RunWatch(deps.store.runs);
  triggerRoutes(app, acceptance, watch);
  runRoutes(app, watch);
  secretRoutes(app);
  receiptRoutes(app, deps);
  runEventRoutes(app, streams);
  waitpointRoutes(app);
  waitpointDoorRoutes(app, deps);
  replayRoutes(app, acceptance);
  bulkRoutes(app);
  hookRoutes(app);
  endpointRoutes(app);
  deliveryRoutes(app);
  scheduleRoutes(app);
  if (deps.hookPlace?.isHere ?? true) hookDoorRoutes(app, deps, acceptance);
  keyRoutes(app);
  projectRoutes(app, deps);
  poolRoutes(app);
  policyRoutes(app);
  approvalStreamRoutes(app, streams);
  approvalRoutes(app);
  healthRoutes(app, deps);
  const serverOf: McpServerOf = (caller) => createMcpServer({ caller, version: deps.version });
  mcpRoutes(app, deps, deps.mcpServerOf ?? serverOf);
  metricsRoutes(app, deps, registry);
  docsRoutes(app);
  approvalPageRoutes(app);
  let document: ReturnType<typeof openApiDocument> | undefined; // made once: anybody may ask for it, without a key
  app.get('/openapi.json', (c) => {
    document ??= openApiDocument(app, deps.version);
    return c.json(document);
  });
  app.notFound(() => {
    throw new MayflyError('not_found', 'Nothing is at that path.');
  });
  return app;
}
