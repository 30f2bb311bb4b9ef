import { Counter, type Registry } from 'prom-client';
import type { Store } from '../../store/connect.ts';
import { gaugeOf } from './gauge.ts';
import { operatorGauges } from './operator-metrics.ts';
import { poolGauges } from './pool-metrics.ts';
import { storageGauges } from './storage-metrics.ts';

/** Registers the metrics that are counted in the store when asked. @returns counts them, now */
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
