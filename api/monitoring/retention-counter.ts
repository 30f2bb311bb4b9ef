import { Counter, type Registry } from 'prom-client';
import type { Store } from '../../store/connect.ts';

/** What the retention has removed since there is this store, as the store says when it is asked. */
export function retentionCounter({ retention }: Store, registry: Registry): () => Promise<void> {
  const removed = new Counter({
    name: 'mayfly_retention_removed_total',
    help: 'Documents that were removed a while after the end of their sandbox',
    labelNames: ['collection'] as const,
    registers: [registry],
  });
  return async () => {
    const counts = await retention.removed();
    removed.reset();
    for (const [collection, n] of Object.entries(counts)) removed.inc({ collection }, n);
  };
}
