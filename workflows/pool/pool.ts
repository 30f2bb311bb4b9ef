import type { PoolInput } from '../../model/pools/pool-saga.ts';
import { shouldContinueAsNew } from '../saga/continue-as-new.ts';
import { reconcileMembers } from './fill.ts';
import { PoolState } from './pool-life.ts';
import { endMembers } from './retiring.ts';

/**
 * Keeps sandboxes warm for claims:
 *
 *   inspect members → retire unfit ones → create missing ones → wait (fill.ts)
 *   deleted → all members end, each with its proof → deleted
 *
 * Members are sandboxes with workflows of their own, which arbitrate claims (entity/claims.ts). Members are read from
 * the store in each round, so a lost run loses nothing.
 */
export async function pool(input: PoolInput): Promise<void> {
  const life = new PoolState(input);
  if (!(await life.begin())) return;
  while (!life.isDeleting) {
    const waitMs = await reconcileMembers(life);
    if (shouldContinueAsNew() && life.makers.size === 0) await life.continueAsNew();
    await life.untilNext(waitMs);
  }
  await life.change({ state: 'deleting', wanted: 0, reason: null, retryAt: null });
  await endMembers(life);
  await life.change({ state: 'deleted' });
  await life.close();
}
