import { CancellationScope } from '@temporalio/workflow';
import type { SandboxEntity } from '../entity/entity.ts';
import type { OperationSteps } from '../entity/operation-steps.ts';
import { snapshotRecords } from './snapshot-records.ts';

/**
 * Thaws the guest and removes saved data, until success. Only the guest can confirm a thaw, and a silent guest must not
 * outlive its sandbox: once the sandbox ends, its machine is removed first.
 */
export function undoSave(entity: SandboxEntity, host: OperationSteps, snapshotId: string): Promise<void> {
  return CancellationScope.nonCancellable(async () => {
    const { failedStep } = entity; // step that caused this compensation
    const thawed = entity.isEnding
      ? null
      : await entity.untilEnd(async () => {
          await host.thaw();
          await removeSaved(host, snapshotId);
        });
    if (thawed) return;
    entity.failedStep = failedStep;
    await host.undoDomain();
    await removeSaved(host, snapshotId);
    if (entity.record.waitingFor !== null) await entity.recordChange('sandbox.cleanup', { waitingFor: null });
  });
}

/** Removes saved data; a layer under the sandbox's disk stays as long as the disk, and the record names the sandbox. */
async function removeSaved(host: OperationSteps, snapshotId: string): Promise<void> {
  const { keptFor } = await host.removeSnapshot(snapshotId);
  if (keptFor !== null) await snapshotRecords.change(snapshotId, { keptFor });
}
