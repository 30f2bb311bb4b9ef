/** Runs two steps as a host worker, to be killed by a failpoint: `step-process.ts <state> <id>`. */
import { UserCa } from '../../../ca/user-ca.ts';
import { Failpoints } from '../../../host/failpoints.ts';
import { SimulatedHypervisor } from '../../../host/simulated/driver.ts';
import { StateDir } from '../../../host/state-dir.ts';
import { agentFolder } from '../../support/agent-folder.ts';

const [, , root = '', sandboxId = ''] = process.argv;
const failpoints = Failpoints.parse(process.env['MAYFLY_FAILPOINTS']);
const hypervisor = new SimulatedHypervisor({ state: new StateDir(root), failpoints, agentFolder: agentFolder() });
await hypervisor.open();
const ca = await UserCa.open(`${root}/ca`);
const context = { signal: AbortSignal.timeout(120_000), alive: () => {} };
const userCaKeys = await ca.publicKeys();
const request = {
  sandboxId,
  source: 'golden-debian12',
  snapshotId: null,
  cpus: null,
  memoryMib: null,
  egress: 'none',
  userCaKeys,
} as const;
await hypervisor.cloneDisk(request, context);
await hypervisor.bootDomain(sandboxId, context);
await failpoints.hit('bootDomain', 'after', []);
await hypervisor.removeWorkspace(sandboxId);
