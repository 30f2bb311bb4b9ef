import type { PoolInput } from '../../model/pools/pool-saga.ts';
import { shallContinue } from '../saga/continue-as-new.ts';
import { fill } from './fill.ts';
import { PoolLife } from './pool-life.ts';
import { endMembers } from './retiring.ts';

/**
 * Keeps sandboxes ready for whoever asks for such:
 *
 *   look at its members → take away what is unfit → make what is missing → wait (fill.ts)
 *   deleted → all its members end, each with its proof → deleted
 *
 * Members are sandboxes with sagas of their own, which decide whose they become (life/claims.ts); what this workflow sees of
 * them in the store it looks at anew each time, so nothing is lost with a run of it.
 */
export async function pool(input: PoolInput): Promise<void> {
  const life = new PoolLife(input);
  if (!(await life.begin())) return;
  while (!life.isDeleting) {
    const waitMs = await fill(life);
    if (shallContinue() && life.makers.size === 0) await life.continueAsNew();
    await life.untilNext(waitMs);
  }
  await life.change({ state: 'deleting', wanted: 0, reason: null, retryAt: null });
  await endMembers(life);
  await life.change({ state: 'deleted' });
  await life.close();
}
