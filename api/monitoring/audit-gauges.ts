import { Gauge, type Registry } from 'prom-client';
import type { Store } from '../../store/connect.ts';

/** Audit trails that can't be continued, as the store says when it is asked. */
export function auditGauges({ audit }: Store, registry: Registry): () => Promise<void> {
  const registers = [registry];
  const chains = new Gauge({
    name: 'mayfly_audit_broken_chains',
    help: 'Audit trails that cannot be continued until somebody has mended them',
    registers,
  });
  const events = new Gauge({
    name: 'mayfly_audit_waiting_events',
    help: 'Events that wait until their audit trail can be continued',
    registers,
  });
  return async () => {
    const faults = await audit.faults();
    chains.set(faults.length);
    events.set(faults.reduce((sum, { waiting }) => sum + waiting, 0));
  };
}
