import { CancellationScope } from '@temporalio/workflow';
import type { SandboxEntity } from '../entity/entity.ts';
import type { OperationSteps } from '../entity/operation-steps.ts';
import { snapshotRecords } from './snapshot-records.ts';

/**
 * Thaws the guest and takes away what was saved of it, until that holds. Only the guest can tell that it is thawed, and
 * one that does not answer must not outlive its end: once the sandbox shall end, its machine goes first.
 */
export function undoSave(entity: SandboxEntity, host: OperationSteps, snapshotId: string): Promise<void> {
  return CancellationScope.nonCancellable(async () => {
    const { failedStep } = entity; // the one that made this necessary
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

/** Removes what was saved; a layer that the sandbox's disk has under it stays until then, and the record names the sandbox. */
async function removeSaved(host: OperationSteps, snapshotId: string): Promise<void> {
  const { keptFor } = await host.removeSnapshot(snapshotId);
  if (keptFor !== null) await snapshotRecords.change(snapshotId, { keptFor });
}
