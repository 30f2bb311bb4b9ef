import { heartbeat } from '@temporalio/activity';
import { poolIdOf, poolWorkflowIdOf } from '../../model/pools/pool-saga.ts';
import type { ReconcileDeps } from './sandboxes.ts';

/** Pools whose workflows are gone, and members whose pools are. */
export function createPoolReconcileActivities({ store, reconciliation }: ReconcileDeps) {
  return {
    async resumePools({ graceMs }: { graceMs: number }): Promise<void> {
      const before = Date.now() - graceMs;
      const pools = await store.pools.all();
      for (const { project, name, createdBy: actor, updatedAt, ...wish } of pools) {
        heartbeat();
        if (Date.parse(updatedAt) > before) continue;
        const workflowId = poolWorkflowIdOf({ project, name });
        if (await reconciliation.isOpen(workflowId)) continue;
        const { source, cpus, memoryMib, egress, min, max } = wish;
        const input = { project, name, wish: { source, cpus, memoryMib, egress, min, max }, actor };
        const at = new Date().toISOString();
        await reconciliation.resume(workflowId, () => reconciliation.pools.resume({ ...input, at }));
      }
      const known = new Set(pools.map(poolIdOf));
      for (const { id, project, pool, state, createdAt } of await store.poolMembers.unclaimed()) {
        heartbeat();
        if (state === 'destroying' || Date.parse(createdAt) > before || !pool) continue;
        if (known.has(poolIdOf({ project, name: pool.name }))) continue;
        if (await reconciliation.isOpen(poolWorkflowIdOf({ project, name: pool.name }))) continue;
        await reconciliation.pools.retire(id);
      }
    },
  };
}
