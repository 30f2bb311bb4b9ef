import { proxyActivities, sleep } from '@temporalio/workflow';
import type { ControlActivities } from '../activities/control.ts';
import type { DecommissionHostInput } from '../model/sagas/forget-host.ts';
import { MINUTE_MS, PROFILE } from './saga/profiles.ts';

const control = proxyActivities<ControlActivities>(PROFILE.undo(10 * MINUTE_MS, { heartbeatMs: 30_000 }));

/**
 * Decommissions a host that is lost for good:
 *
 *   cordon → sandboxes elsewhere stop waiting for the host → its sandboxes end, unproved → its other tasks and resources fail
 *
 * No one can inspect the host, so nothing on it is called removed. If it comes back, it is reconciled before it takes
 * work (reconcile.ts), which removes its residue and proves that.
 */
export async function forgetHost(input: DecommissionHostInput): Promise<void> {
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
