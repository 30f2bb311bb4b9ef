/**
 * Runs one step of snapshots as a host worker, to be killed by a failpoint: `snapshot-process.ts <state> <step>
 * <sandbox> <snapshot>`.
 */
import { Failpoints } from '../../../host/failpoints.ts';
import { SimulatedHypervisor } from '../../../host/simulated/driver.ts';
import { StateDir } from '../../../host/state-dir.ts';
import { agentFolder } from '../../support/agent-folder.ts';

const [, , root = '', step = '', sandboxId = '', snapshotId = ''] = process.argv;
const failpoints = Failpoints.parse(process.env['MAYFLY_FAILPOINTS']);
const hypervisor = new SimulatedHypervisor({ state: new StateDir(root), failpoints, agentFolder: agentFolder() });
await hypervisor.open();
const context = { signal: AbortSignal.timeout(120_000), alive: () => {} };
const { snapshots } = hypervisor;
const steps: Record<string, () => Promise<unknown>> = {
  saveSnapshot: () => snapshots.save({ snapshotId, sandboxId, kind: 'disk' }, context),
  verifySnapshot: () => snapshots.verify(snapshotId, context),
  removeSnapshot: () => snapshots.remove(snapshotId),
  revertDisk: () => snapshots.revert({ sandboxId, snapshotId, restoreId: 'killed' }, context),
  pause: () => hypervisor.pause(sandboxId),
  resume: () => hypervisor.resume(sandboxId),
};
await steps[step]?.();
