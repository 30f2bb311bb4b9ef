import { OpenAPIHono } from '@hono/zod-openapi';
import { requestId } from 'hono/request-id';
import type { Acceptance } from '../../services/intake/acceptance.ts';
import { onBehalfOf } from '../../store/audit/request-id.ts';
import { dropBodyOfHead } from '../http/body.ts';
import type { App, AppDeps, Env } from '../http/context.ts';
import { errorHandler } from '../http/problem.ts';
import { refuseUnknownRoutes } from '../http/unknown-routes.ts';
import { measureRequests } from '../monitoring/metrics.ts';
import { hookDoorRoutes } from './hook-door.ts';

type Deps = Pick<AppDeps, 'store' | 'logger' | 'traceRequest' | 'hookAnswerMs'> & Required<Pick<AppDeps, 'metrics'>>;

/** Hooks alone, for a port of their own: whatever else is asked for there is not found, with a key or without. */
export function createHookApp(deps: Deps, acceptance: Acceptance): App {
  const app: App = new OpenAPIHono<Env>();
  app.use(requestId());
  app.use((c, next) => onBehalfOf(c.get('requestId'), next));
  if (deps.traceRequest) app.use(deps.traceRequest);
  app.use(measureRequests(deps.metrics));
  app.use(dropBodyOfHead);
  app.onError(errorHandler(deps));
  refuseUnknownRoutes(app);
  hookDoorRoutes(app, deps, acceptance);
  return app;
}
