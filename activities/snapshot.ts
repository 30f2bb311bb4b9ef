import type { Hypervisor } from '../host/hypervisor.ts';
import type { SaveRequest } from '../host/snapshots.ts';
import { LONGEST_CHAIN, type VerifiedSnapshot } from '../model/snapshot.ts';
import { refuseFull } from '../model/storage.ts';
import type { Attendances } from './attendances.ts';
import { stepContext } from './step-context.ts';
import type { StepTarget } from './steps.ts';
import type { StorageRoom } from './storage-room.ts';

export interface SnapshotDeps {
  hypervisor: Pick<Hypervisor, 'kind' | 'snapshots' | 'pause' | 'resume' | 'disk' | 'diskBytes'>;
  room: Pick<StorageRoom, 'check' | 'checkFlat'>;
  attendances: Pick<Attendances, 'interruptAll'>;
  guests: { close(sandboxId: string): void };
}

export interface SnapshotTarget extends StepTarget {
  snapshotId: string;
}

/** What is done to a sandbox while it lives: saved, put back, halted. */
export function createSnapshotActivities({ hypervisor, attendances, guests, room }: SnapshotDeps) {
  const { snapshots } = hypervisor;
  return {
    /** @throws MayflyError snapshot_failed, sandbox_not_running, snapshot_unsupported, host_disk_full */
    async saveSnapshot(request: StepTarget & SaveRequest): Promise<void> {
      // A layer of a disk only changes hands; a tree is copied.
      const copied = hypervisor.kind === 'simulated' ? await hypervisor.diskBytes(request.sandboxId) : 0;
      refuseFull(await hypervisor.disk(), `A snapshot of ${request.sandboxId}`, copied);
      await snapshots.save(request, stepContext());
    },
    /** @throws MayflyError snapshot_failed */
    async verifySnapshot({ sandboxId, snapshotId }: SnapshotTarget): Promise<VerifiedSnapshot> {
      const saved = await snapshots.verify(snapshotId, stepContext());
      return { ...saved, chainLength: await snapshots.chainLength(sandboxId) };
    },
    /**
     * @returns on how many snapshots its disks leant; 0 when that was not too many
     * @throws MayflyError flatten_failed, sandbox_not_running, quota_exceeded, host_disk_full
     */
    async flatten({ sandboxId }: StepTarget): Promise<{ leantOn: number }> {
      const leantOn = await snapshots.chainLength(sandboxId);
      if (leantOn <= LONGEST_CHAIN) return { leantOn: 0 };
      await room.checkFlat(sandboxId);
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
    /**
     * @param onlyWithRoom not for an undo, which must succeed; the host stalls it again where it has to
     * @throws MayflyError sandbox_not_running, quota_exceeded, host_disk_full
     */
    async resume({ sandboxId, onlyWithRoom }: StepTarget & { onlyWithRoom?: boolean }): Promise<void> {
      if (onlyWithRoom) await room.check(sandboxId);
      await hypervisor.resume(sandboxId);
    },
  };
}

export type SnapshotActivities = ReturnType<typeof createSnapshotActivities>;
