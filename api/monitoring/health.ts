import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import { Counter, Histogram, type Metric, type Registry } from 'prom-client';
import { MayflyError } from '../../model/errors.ts';
import { isLive } from '../../model/host.ts';
import { storeMetrics } from '../../services/metrics/store-metrics.ts';
import { type App, type AppDeps, type Env, open, requires } from '../http/context.ts';

interface Check {
  name: string;
  ok: boolean;
  detail: string | null;
}

/** Serves /healthz: this process responds; and /readyz: a sandbox could be created now, or which check fails. */
export function healthRoutes(app: App, deps: AppDeps): void {
  app.get('/healthz', open, (c) => c.json({ status: 'ok', version: deps.version }));
  app.get('/readyz', open, async (c) => {
    const probes = Object.entries({ ...standardProbes(deps), ...deps.readiness });
    const checks = await Promise.all(probes.map(([name, probe]) => check(name, probe)));
    const ready = checks.every(({ ok }) => ok);
    return c.json({ status: ready ? 'ready' : 'not-ready', checks }, ready ? 200 : 503);
  });
}

function standardProbes({ store, sagas }: AppDeps): Record<string, () => Promise<void>> {
  return {
    store: () => store.ping(),
    temporal: () => sagas.reach(),
    host: async () => {
      const hosts = await store.hosts.list();
      if (!hosts.some((host) => isLive(host))) throw new MayflyError('no_host', 'No host worker was heard of lately.');
    },
  };
}

/** Runs a check. Shows only Mayfly's own error messages, since this path is public. */
async function check(name: string, probe: () => Promise<void>): Promise<Check> {
  try {
    await probe();
    return { name, ok: true, detail: null };
  } catch (error) {
    return { name, ok: false, detail: error instanceof MayflyError ? error.message : 'it failed' };
  }
}

const REQUESTS = 'mayfly_http_requests_total';
const DURATIONS = 'mayfly_http_request_duration_seconds';
/** Histogram buckets, s: from the target of a read (10 ms) to the longest wait (600 s). */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600];

/**
 * Counts and times every request by route, never by path, which callers choose. Servers of one registry share the
 * metrics.
 */
export function measureRequests(registry: Registry) {
  const registers = [registry];
  const labelNames = ['method', 'route', 'status'] as const;
  const requests =
    getRegistered<Counter<(typeof labelNames)[number]>>(registry, REQUESTS) ??
    new Counter({ name: REQUESTS, help: 'Requests answered', labelNames, registers });
  const help = 'Time to the beginning of the answer';
  const durations =
    getRegistered<Histogram<'method' | 'route'>>(registry, DURATIONS) ??
    new Histogram({ name: DURATIONS, help, labelNames: ['method', 'route'] as const, buckets: BUCKETS, registers });
  return createMiddleware<Env>(async (c, next) => {
    const stop = durations.startTimer();
    await next();
    const method = METHODS.has(c.req.method) ? c.req.method : 'other';
    const route = c.res.status === 404 || c.res.status === 405 ? 'none' : routePath(c, -1);
    requests.inc({ method, route, status: String(c.res.status) });
    stop({ method, route });
  });
}

function getRegistered<T extends Metric>(registry: Registry, name: string): T | undefined {
  return registry.getSingleMetric(name) as T | undefined;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Serves /metrics in the format of Prometheus, measured on demand. */
export function metricsRoutes(app: App, { store }: AppDeps, registry: Registry): void {
  const measure = storeMetrics(store, registry);
  app.get('/metrics', requires('operator'), async (c) => {
    await measure();
    return c.body(await registry.metrics(), 200, { 'Content-Type': registry.contentType });
  });
}
