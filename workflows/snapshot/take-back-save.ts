import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { Life } from '../life/life.ts';
import type { OperationSteps } from '../life/operation-steps.ts';

/**
 * Thaws the guest and takes away what was saved of it, until that holds. Only the guest can tell that it is thawed, and
 * one that does not answer must not outlive its end: once the sandbox shall end, its machine goes first.
 */
export function takeBackSave(life: Life, host: OperationSteps, snapshotId: string): Promise<void> {
  return CancellationScope.nonCancellable(async () => {
    const isTakenBack = await unlessEnding(life, async () => {
      await host.thaw();
      await host.removeSnapshot(snapshotId);
    });
    if (isTakenBack) return;
    await host.takeDomainAway();
    await host.removeSnapshot(snapshotId);
    if (life.record.waitingFor !== null) await life.recordChange('sandbox.cleanup', { waitingFor: null });
  });
}

/** @returns false when the sandbox shall end, and it was not begun, or was left off */
async function unlessEnding(life: Life, run: () => Promise<void>): Promise<boolean> {
  if (life.shallEnd) return false;
  const { failedStep } = life; // the one that made this necessary
  const scope = new CancellationScope();
  let isOver = false;
  const done = scope.run(run).finally(() => {
    isOver = true;
  });
  done.catch(() => undefined); // thrown below
  await condition(() => isOver || life.shallEnd);
  if (!isOver) scope.cancel();
  try {
    await done;
    return true;
  } catch (error) {
    if (!(scope.consideredCancelled && isCancellation(error))) throw error;
    life.failedStep = failedStep;
    return false;
  }
}
