import { proxyActivities, sleep } from '@temporalio/workflow';
import type { ControlActivities } from '../activities/control.ts';
import type { ForgetHostInput } from '../model/sagas/forget-host.ts';
import { MINUTE_MS, PROFILE } from './saga/profiles.ts';

const control = proxyActivities<ControlActivities>(PROFILE.undo(10 * MINUTE_MS, { heartbeatMs: 30_000 }));

/**
 * Gives a host up that is lost for good:
 *
 *   nothing is placed there any more → who asked it waits for it no more → its sandboxes end, unproved → what else waits for it ends → nobody is on it
 *
 * What is on it nobody can look at, and so nothing is called removed. Should the host come back, it is reconciled before it
 * takes work (reconcile.ts), which removes it and proves that.
 */
export async function forgetHost(input: ForgetHostInput): Promise<void> {
  await control.giveHostUp(input);
  await control.leaveAskedHost(input);
  for (;;) {
    const { sandboxIds } = await control.sandboxesOn(input);
    if (sandboxIds.length === 0) break;
    await control.endUnproved({ ...input, sandboxIds });
    await sleep('1s');
  }
  await control.forgetThingsOn(input);
}
