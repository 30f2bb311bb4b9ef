import { OpenAPIHono } from '@hono/zod-openapi';
import { requestId } from 'hono/request-id';
import { MayflyError } from '../../model/errors.ts';
import { onBehalfOf } from '../../telemetry/request-id.ts';
import type { Acceptance } from '../acceptance/acceptance.ts';
import type { App, AppDeps, Env } from '../http/context.ts';
import { dropBodyOfHead } from '../http/head.ts';
import { refuseUnknownMethod } from '../http/methods.ts';
import { errorHandler } from '../http/problem.ts';
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
  app.use(refuseUnknownMethod(app));
  hookDoorRoutes(app, deps, acceptance);
  app.notFound(() => {
    throw new MayflyError('not_found', 'Nothing is at that path.');
  });
  return app;
}
