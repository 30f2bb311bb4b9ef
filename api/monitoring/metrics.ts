import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import { Counter, Gauge, Histogram, type Metric, type Registry } from 'prom-client';
import { SANDBOX_STATES, SPACE_SUSPENSION_CAUSES } from '../../model/sandbox/sandbox.ts';
import { sumOf } from '../../model/snapshots/storage.ts';
import type { Store } from '../../store/connect.ts';
import { storedParts } from '../../store/stored-parts.ts';
import { requires } from '../http/auth.ts';
import type { App, AppDeps, Env } from '../http/context.ts';
import { auditGauges } from './audit-gauges.ts';
import { operatorGauges } from './operator-metrics.ts';
import { poolGauges } from './pool-metrics.ts';
import { retentionCounter } from './retention-counter.ts';

const REQUESTS = 'mayfly_http_requests_total';
const DURATIONS = 'mayfly_http_request_duration_seconds';
/** From the target of a read (10 ms) to the longest wait (600 s). Seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600];

/**
 * Counts and times every request by the route it met, never by its path: paths are the caller's. Servers of one registry
 * are counted together.
 */
export function measureRequests(registry: Registry) {
  const labelNames = ['method', 'route', 'status'] as const;
  const requests =
    registered<Counter<(typeof labelNames)[number]>>(registry, REQUESTS) ??
    new Counter({
      name: REQUESTS,
      help: 'Requests answered',
      labelNames,
      registers: [registry],
    });
  const durations =
    registered<Histogram<'method' | 'route'>>(registry, DURATIONS) ??
    new Histogram({
      name: DURATIONS,
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

function registered<T extends Metric>(registry: Registry, name: string): T | undefined {
  return registry.getSingleMetric(name) as T | undefined;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** What takes room on hosts, as the store says when it is asked. */
function storageGauges(store: Store, registry: Registry): () => Promise<void> {
  const registers = [registry];
  const stored = new Gauge({
    name: 'mayfly_stored_bytes',
    help: 'Bytes on the disks of hosts: workspaces as last measured, snapshots as saved',
    labelNames: ['host', 'kind'] as const,
    registers,
  });
  const ofKeys = new Gauge({
    name: 'mayfly_key_stored_bytes',
    help: 'Of API keys that have a quota',
    labelNames: ['api_key'] as const,
    registers,
  });
  const quotas = new Gauge({
    name: 'mayfly_key_quota_bytes',
    help: 'How much an API key may store in all',
    labelNames: ['api_key'] as const,
    registers,
  });
  const free = new Gauge({
    name: 'mayfly_host_disk_available_bytes',
    help: 'Free on the disk of a host when it last described itself',
    labelNames: ['host'] as const,
    registers,
  });
  const stalled = new Gauge({
    name: 'mayfly_sandboxes_stalled',
    help: 'Sandboxes that their host has paused until there is room',
    labelNames: ['cause'] as const,
    registers,
  });
  return async () => {
    const [parts, hosts, limited, paused] = await Promise.all([
      storedParts(store),
      store.hosts.list(),
      store.apiKeys.limited(),
      store.sandboxes.all(['paused']),
    ]);
    for (const gauge of [stored, ofKeys, quotas, free, stalled]) gauge.reset();
    for (const { hostId, kind, bytes } of parts) stored.inc({ host: hostId ?? 'none', kind }, bytes);
    for (const { id, diskBytes } of limited) {
      ofKeys.set({ api_key: id }, sumOf(parts.filter(({ apiKeyId }) => apiKeyId === id)));
      if (diskBytes !== null) quotas.set({ api_key: id }, diskBytes);
    }
    for (const { id, capacity } of hosts) free.set({ host: id }, capacity.diskAvailableBytes);
    for (const cause of SPACE_SUSPENSION_CAUSES) {
      stalled.set({ cause }, paused.filter(({ stalledBy }) => stalledBy === cause).length);
    }
  };
}

/** What /metrics has beside the requests. @returns what measures it, now */
export function metricsOf(store: Store, registry: Registry): () => Promise<void> {
  const sandboxes = new Gauge({
    name: 'mayfly_sandboxes',
    help: 'Recorded sandboxes by state',
    labelNames: ['state'] as const,
    registers: [registry],
  });
  const reconciled = new Gauge({
    name: 'mayfly_reconciled_total',
    help: 'What reconciliations came to: sandboxes taken over, lost, found on a host without a record, or ended unproved',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  const measureStorage = storageGauges(store, registry);
  const countFaults = auditGauges(store, registry);
  const countRemoved = retentionCounter(store, registry);
  const measurePools = poolGauges(store, registry);
  const measureSagas = operatorGauges(store, registry);
  return async () => {
    const counts = await store.sandboxes.countByState();
    for (const state of SANDBOX_STATES) sandboxes.set({ state }, counts.get(state) ?? 0);
    for (const [outcome, count] of await store.reconciled.counts()) reconciled.set({ outcome }, count);
    await Promise.all([measureStorage(), measurePools(), measureSagas(counts), countFaults(), countRemoved()]);
  };
}

/** /metrics, in the format of Prometheus. All is counted when asked, and so always true. */
export function metricsRoutes(app: App, { store }: AppDeps, registry: Registry): void {
  const measure = metricsOf(store, registry);
  app.get('/metrics', requires('operator'), async (c) => {
    await measure();
    return c.body(await registry.metrics(), 200, { 'Content-Type': registry.contentType });
  });
}
