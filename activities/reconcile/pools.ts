import { heartbeat } from '@temporalio/activity';
import { poolId, poolWorkflowId } from '../../model/pools/pool-saga.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { findLost } from './find-lost.ts';

/** Activity for pools without a workflow, and members without a pool. */
export function createPoolReconcileActivities({ store, reconciliation }: SagaDeps) {
  return {
    async resumePools({ graceMs }: { graceMs: number }): Promise<void> {
      const before = Date.now() - graceMs;
      const pools = await store.pools.all();
      const lost = findLost({ reconciliation, graceMs }, pools, (pool) => ({
        since: pool.updatedAt,
        workflowIds: [poolWorkflowId(pool)],
      }));
      for await (const { project, name, createdBy: actor, ...wish } of lost) {
        const workflowId = poolWorkflowId({ project, name });
        const { source, cpus, memoryMib, egress, min, max } = wish;
        const input = { project, name, wish: { source, cpus, memoryMib, egress, min, max }, actor };
        const at = new Date().toISOString();
        await reconciliation.resume(workflowId, () => reconciliation.pools.resume({ ...input, at }));
      }
      const known = new Set(pools.map(poolId));
      for (const { id, project, pool, state, createdAt } of await store.poolMembers.unclaimed()) {
        heartbeat();
        if (state === 'destroying' || Date.parse(createdAt) > before || !pool) continue;
        if (known.has(poolId({ project, name: pool.name }))) continue;
        if (await reconciliation.isOpen(poolWorkflowId({ project, name: pool.name }))) continue;
        await reconciliation.pools.retire(id);
      }
    },
  };
}
