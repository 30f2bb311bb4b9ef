import { LibvirtHypervisor } from '../../../host/libvirt/driver.ts';
import { StateDir } from '../../../host/state-dir.ts';

/** Runs one step as a host worker, to be killed midway: `step-process.ts URI STATE LEASES STEP ID SOURCE|SNAPSHOT`. */
const [uri = '', root = '', leaseFolder = '', step = '', sandboxId = '', source = ''] = process.argv.slice(2);
const host = new LibvirtHypervisor({ uri, state: new StateDir(root), leaseFolder });
const context = { signal: AbortSignal.timeout(60_000), alive: () => {} };
const request = {
  sandboxId,
  source,
  snapshotId: null,
  cpus: null,
  memoryMib: null,
  egress: 'none' as const,
  userCaKeys: [],
};
const steps: Record<string, () => Promise<unknown>> = {
  cloneDisk: () => host.cloneDisk(request, context),
  bootDomain: () => host.bootDomain(sandboxId, context),
  save: () => host.snapshots.save({ snapshotId: source, sandboxId, kind: 'disk' }, context),
  saveFull: () => host.snapshots.save({ snapshotId: source, sandboxId, kind: 'full' }, context),
  verify: () => host.snapshots.verify(source, context),
  flatten: () => host.snapshots.flatten(sandboxId, context),
  revert: () => host.snapshots.revert({ sandboxId, snapshotId: source, restoreId: 'killed' }, context),
  beginCapture: () => host.captures.begin({ captureId: sandboxId, source }, context),
  removeSnapshot: () => host.snapshots.remove(source),
  hibernate: () => host.hibernate(sandboxId, context),
  wake: () => host.wake(sandboxId, 'running', context),
  removeDomain: () => host.removeDomain(sandboxId),
  removeWorkspace: () => host.removeWorkspace(sandboxId),
};
process.stdout.write('begins\n');
await steps[step]?.();
