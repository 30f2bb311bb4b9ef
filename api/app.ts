import { OpenAPIHono } from '@hono/zod-openapi';
import { requestId } from 'hono/request-id';
import { Registry } from 'prom-client';
import { MayflyError } from '../model/errors.ts';
import { auditRoutes } from './audit.ts';
import { authenticate } from './auth.ts';
import { limitBody, requireJson } from './body.ts';
import { captureRoutes } from './captures.ts';
import { commandEventRoutes } from './command-events.ts';
import { commandRoutes } from './commands.ts';
import type { App, AppDeps, Env } from './context.ts';
import { credentialRoutes } from './credentials.ts';
import { diffRoutes } from './diff.ts';
import { docsRoutes } from './docs-page.ts';
import { routedPath } from './file-path.ts';
import { fileRoutes } from './files.ts';
import { dropBodyOfHead } from './head.ts';
import { healthRoutes } from './health.ts';
import { hostRoutes } from './hosts.ts';
import { keyRoutes } from './keys.ts';
import { refuseUnknownMethod } from './methods.ts';
import { measureRequests, metricsRoutes } from './metrics.ts';
import { pauseRoutes } from './pause.ts';
import { errorHandler } from './problem.ts';
import { restoreRoutes } from './restore.ts';
import { sandboxEventRoutes } from './sandbox-events.ts';
import { sandboxRoutes } from './sandboxes.ts';
import { snapshotRoutes } from './snapshots.ts';
import { sourceRoutes } from './sources.ts';
import { usageRoutes } from './usage.ts';
import { refuseInvalid } from './validation.ts';

/** The HTTP API as one Hono app; `app.fetch` is what a server is given. */
export function createApp(deps: AppDeps): App {
  const app: App = new OpenAPIHono<Env>({ defaultHook: refuseInvalid, getPath: routedPath });
  const registry = deps.metrics ?? new Registry();

  app.use(requestId());
  app.use(measureRequests(registry));
  app.use(dropBodyOfHead);
  app.onError(errorHandler(deps));
  app.use(authenticate(deps.store));
  app.use(refuseUnknownMethod(app));
  app.use('/v1/*', limitBody, requireJson);

  sandboxRoutes(app, deps);
  sandboxEventRoutes(app, deps);
  pauseRoutes(app, deps);
  snapshotRoutes(app, deps);
  diffRoutes(app, deps);
  restoreRoutes(app, deps);
  credentialRoutes(app, deps);
  commandRoutes(app, deps);
  commandEventRoutes(app, deps);
  fileRoutes(app, deps);
  usageRoutes(app, deps);
  auditRoutes(app, deps);
  hostRoutes(app, deps);
  sourceRoutes(app, deps);
  captureRoutes(app, deps);
  keyRoutes(app, deps);
  healthRoutes(app, deps);
  metricsRoutes(app, deps, registry);
  docsRoutes(app);
  app.get('/openapi.json', (c) => c.json(openApiDocument(app, deps.version)));
  app.notFound(() => {
    throw new MayflyError('not_found', 'Nothing is at that path.');
  });
  return app;
}

/** The API's description (OpenAPI 3.1), made from the very schemas that requests are checked with. */
export function openApiDocument(app: App, version: string) {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'Mayfly', version, description: 'Disposable virtual machines for AI agents.' },
    security: [{ bearer: [] }],
  });
}
