import type { Hypervisor } from '../host/hypervisor.ts';
import type { SaveRequest } from '../host/snapshots.ts';
import { MayflyError } from '../model/errors.ts';
import { LONGEST_CHAIN, type VerifiedSnapshot } from '../model/snapshot.ts';
import type { Attendances } from './attendances.ts';
import { stepContext } from './step-context.ts';
import type { StepTarget } from './steps.ts';

export interface SnapshotDeps {
  hypervisor: Pick<Hypervisor, 'snapshots' | 'pause' | 'resume' | 'hibernate' | 'wake'>;
  attendances: Pick<Attendances, 'interruptAll'>;
  guests: { close(sandboxId: string, why?: MayflyError): void };
}

export interface SnapshotTarget extends StepTarget {
  snapshotId: string;
}

/** What is done to a sandbox while it lives: saved, put back, halted, hibernated. */
export function createSnapshotActivities({ hypervisor, attendances, guests }: SnapshotDeps) {
  const { snapshots } = hypervisor;
  return {
    /** @throws MayflyError snapshot_failed, sandbox_not_running, snapshot_unsupported */
    async saveSnapshot(request: StepTarget & SaveRequest): Promise<void> {
      await snapshots.save(request, stepContext());
    },
    /** @throws MayflyError snapshot_failed */
    async verifySnapshot({ sandboxId, snapshotId }: SnapshotTarget): Promise<VerifiedSnapshot> {
      const saved = await snapshots.verify(snapshotId, stepContext());
      return { ...saved, chainLength: await snapshots.chainLength(sandboxId) };
    },
    /**
     * @returns on how many snapshots its disks leant; 0 when that was not too many
     * @throws MayflyError flatten_failed, sandbox_not_running
     */
    async flatten({ sandboxId }: StepTarget): Promise<{ leantOn: number }> {
      const leantOn = await snapshots.chainLength(sandboxId);
      if (leantOn <= LONGEST_CHAIN) return { leantOn: 0 };
      await snapshots.flatten(sandboxId, stepContext());
      return { leantOn };
    },
    async thaw({ sandboxId }: StepTarget): Promise<void> {
      await snapshots.thaw(sandboxId);
    },
    /** @returns why it is kept all the same; null when nothing of it is left */
    async removeSnapshot({ snapshotId }: SnapshotTarget): Promise<{ keptFor: string | null }> {
      return snapshots.remove(snapshotId);
    },

    /**
     * Lets go of the guest, which is about to be put back: whatever runs in it has ended for its callers, and nothing is
     * started in it any more. The store must say `restoring` by now, so that nobody connects again.
     */
    async interruptCommands({ sandboxId }: StepTarget): Promise<void> {
      guests.close(sandboxId);
      await attendances.interruptAll(sandboxId);
    },
    /** @throws MayflyError restore_failed, snapshot_not_found */
    async revertDisk(request: SnapshotTarget & { restoreId: string }): Promise<void> {
      await snapshots.revert(request, stepContext());
    },

    /** @throws MayflyError sandbox_not_running */
    async pause({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.pause(sandboxId);
    },
    /** @throws MayflyError sandbox_not_running */
    async resume({ sandboxId }: StepTarget): Promise<void> {
      await hypervisor.resume(sandboxId);
    },
    /**
     * Lets go of the guest first: its connections would hang until it is woken. What runs in it goes on then.
     * @throws MayflyError sandbox_not_running, hibernate_failed, hibernation_unsupported
     */
    async hibernate({ sandboxId }: StepTarget): Promise<void> {
      guests.close(sandboxId, new MayflyError('sandbox_not_running', `${sandboxId} is being hibernated.`));
      await hypervisor.hibernate(sandboxId, stepContext());
    },
    /** @throws MayflyError sandbox_not_running, wake_failed */
    async wake({ sandboxId, wished }: StepTarget & { wished: 'running' | 'paused' }): Promise<void> {
      await hypervisor.wake(sandboxId, wished, stepContext());
    },
  };
}

export type SnapshotActivities = ReturnType<typeof createSnapshotActivities>;
