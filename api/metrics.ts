import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { SANDBOX_STATES } from '../model/sandbox.ts';
import { requires } from './auth.ts';
import type { App, AppDeps, Env } from './context.ts';

/** From the target of a read (10 ms) to the longest wait (600 s). Seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600];

/** Counts and times every request by the route it met, never by its path: paths are the caller's. */
export function measureRequests(registry: Registry) {
  const labelNames = ['method', 'route', 'status'] as const;
  const requests = new Counter({
    name: 'mayfly_http_requests_total',
    help: 'Requests answered',
    labelNames,
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'mayfly_http_request_duration_seconds',
    help: 'Time to the beginning of the answer',
    labelNames: ['method', 'route'] as const,
    buckets: BUCKETS,
    registers: [registry],
  });
  return createMiddleware<Env>(async (c, next) => {
    const stop = durations.startTimer();
    await next();
    const method = METHODS.has(c.req.method) ? c.req.method : 'other';
    const route = c.res.status === 404 || c.res.status === 405 ? 'none' : routePath(c, -1);
    requests.inc({ method, route, status: String(c.res.status) });
    stop({ method, route });
  });
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** /metrics, in the format of Prometheus. The states are counted when asked, and so always true. */
export function metricsRoutes(app: App, { store }: AppDeps, registry: Registry): void {
  const sandboxes = new Gauge({
    name: 'mayfly_sandboxes',
    help: 'Recorded sandboxes by state',
    labelNames: ['state'] as const,
    registers: [registry],
  });
  app.get('/metrics', requires('sandboxes:read'), async (c) => {
    const counts = await store.sandboxes.countByState();
    for (const state of SANDBOX_STATES) sandboxes.set({ state }, counts.get(state) ?? 0);
    return c.body(await registry.metrics(), 200, { 'Content-Type': registry.contentType });
  });
}
