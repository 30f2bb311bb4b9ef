import { Counter, type Registry } from 'prom-client';
import { SPACE_SUSPENSION_CAUSES } from '../../model/sandbox/sandbox.ts';
import { sumBytes } from '../../model/snapshots/storage.ts';
import type { Store } from '../../store/connect.ts';
import { listStorageUse } from '../../store/stored-parts.ts';
import { operatorGauges } from './operator-metrics.ts';
import { gaugeOf, poolGauges } from './pool-metrics.ts';

/** Registers the metrics that the store counts on demand. @returns a function that measures them */
export function storeMetrics(store: Store, registry: Registry): () => Promise<void> {
  const measures = [operatorGauges, storageGauges, poolGauges, auditGauges, recordCounters, taskGauges].map((of) =>
    of(store, registry),
  );
  return async () => void (await Promise.all(measures.map((measure) => measure())));
}

function auditGauges({ audit }: Store, registry: Registry): () => Promise<void> {
  const chains = gaugeOf(
    registry,
    'mayfly_audit_broken_chains',
    'Audit trails that cannot be continued until somebody has mended them',
  );
  const events = gaugeOf(
    registry,
    'mayfly_audit_waiting_events',
    'Events that wait until their audit trail can be continued',
  );
  return async () => {
    const faults = await audit.faults();
    chains.set(faults.length);
    events.set(faults.reduce((sum, { waiting }) => sum + waiting, 0));
  };
}

function recordCounters({ retention, reconciled: outcomes }: Store, registry: Registry): () => Promise<void> {
  const reconciled = gaugeOf(
    registry,
    'mayfly_reconciled_total',
    'What reconciliations came to: sandboxes taken over, lost, found on a host without a record, or ended unproved',
    'outcome',
  );
  const removed = new Counter({
    name: 'mayfly_retention_removed_total',
    help: 'Documents that were removed a while after the end of their sandbox',
    labelNames: ['collection'] as const,
    registers: [registry],
  });
  return async () => {
    for (const [outcome, count] of await outcomes.counts()) reconciled.set({ outcome }, count);
    const counts = await retention.removed();
    removed.reset();
    for (const [collection, n] of Object.entries(counts)) removed.inc({ collection }, n);
  };
}

function taskGauges({ periodicTasks }: Store, registry: Registry): () => Promise<void> {
  const name = 'mayfly_periodic_task_last_turn_timestamp_seconds';
  const last = gaugeOf(registry, name, 'When a turn of the periodic work of control workers last ended', 'task');
  const failing = gaugeOf(registry, 'mayfly_periodic_task_failing', 'Whether that turn failed', 'task');
  return async () => {
    for (const { name: task, endedAt, failure } of await periodicTasks.list()) {
      last.set({ task }, Date.parse(endedAt) / 1_000);
      failing.set({ task }, failure ? 1 : 0);
    }
  };
}

/** Registers gauges of disk use on hosts. */
function storageGauges(store: Store, registry: Registry): () => Promise<void> {
  const stored = gaugeOf(
    registry,
    'mayfly_stored_bytes',
    'Bytes on the disks of hosts: workspaces as last measured, snapshots as saved',
    'host',
    'kind',
  );
  const ofKeys = gaugeOf(registry, 'mayfly_key_stored_bytes', 'Of API keys that have a quota', 'api_key');
  const quotas = gaugeOf(registry, 'mayfly_key_quota_bytes', 'How much an API key may store in all', 'api_key');
  const free = gaugeOf(
    registry,
    'mayfly_host_disk_available_bytes',
    'Free on the disk of a host when it last described itself',
    'host',
  );
  const stalled = gaugeOf(
    registry,
    'mayfly_sandboxes_stalled',
    'Sandboxes that their host has paused until there is room',
    'cause',
  );
  return async () => {
    const [parts, hosts, limited, paused] = await Promise.all([
      listStorageUse(store),
      store.hosts.list(),
      store.apiKeys.limited(),
      store.sandboxes.all(['paused']),
    ]);
    for (const gauge of [stored, ofKeys, quotas, free, stalled]) gauge.reset();
    for (const { hostId, kind, bytes } of parts) stored.inc({ host: hostId ?? 'none', kind }, bytes);
    for (const { id, diskBytes } of limited) {
      ofKeys.set({ api_key: id }, sumBytes(parts.filter(({ apiKeyId }) => apiKeyId === id)));
      if (diskBytes !== null) quotas.set({ api_key: id }, diskBytes);
    }
    for (const { id, capacity } of hosts) free.set({ host: id }, capacity.diskAvailableBytes);
    for (const cause of SPACE_SUSPENSION_CAUSES) {
      stalled.set({ cause }, paused.filter(({ stalledBy }) => stalledBy === cause).length);
    }
  };
}
