import type { CommandRuns } from '../../host/exec/command-runs.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import type { SaveRequest } from '../../host/snapshots.ts';
import { MayflyError } from '../../model/errors.ts';
import type { VerifiedSnapshot } from '../../model/snapshots/snapshot.ts';
import { LONGEST_CHAIN } from '../../model/snapshots/snapshot-saga.ts';
import { assertSpace } from '../../model/snapshots/storage.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';
import type { StorageRoom } from './storage-room.ts';

interface SnapshotDeps {
  hypervisor: Pick<
    Hypervisor,
    'kind' | 'snapshots' | 'pause' | 'resume' | 'hibernate' | 'wake' | 'disk' | 'diskBytes' | 'residentMib'
  >;
  room: Pick<StorageRoom, 'check' | 'checkFlat'>;
  commandRuns: Pick<CommandRuns, 'interruptAll'>;
  guests: { close(sandboxId: string, why?: MayflyError): void };
}

interface SnapshotTarget extends StepTarget {
  snapshotId: string;
}

/** Activities on a living sandbox: snapshot, restore, pause, hibernate. */
export function createSnapshotActivities({ hypervisor, commandRuns, guests, room }: SnapshotDeps) {
  const { snapshots } = hypervisor;

  /** Returns the bytes that a save writes: a disk layer is only reassigned, a tree and memory are copied. */
  async function newBytes({ sandboxId, kind }: SaveRequest): Promise<number> {
    const tree = hypervisor.kind === 'simulated' ? await hypervisor.diskBytes(sandboxId) : 0;
    const memoryMib = kind === 'full' ? await hypervisor.residentMib(sandboxId) : 0;
    return tree + memoryMib * 1_048_576;
  }

  return {
    /** @throws MayflyError snapshot_failed, sandbox_not_running, snapshot_unsupported, host_disk_full */
    async saveSnapshot(request: StepTarget & SaveRequest): Promise<void> {
      assertSpace(await hypervisor.disk(), `A snapshot of ${request.sandboxId}`, await newBytes(request));
      await snapshots.save(request, stepContext());
    },
    /** @throws MayflyError snapshot_failed */
    async verifySnapshot({ sandboxId, snapshotId }: SnapshotTarget): Promise<VerifiedSnapshot> {
      const saved = await snapshots.verify(snapshotId, stepContext());
      return { ...saved, chainLength: await snapshots.chainLength(sandboxId) };
    },
    /**
     * Flattens disks that depend on too many snapshots to the source alone; otherwise merges deleted layers that only
     * they use.
     * @returns the number of snapshots they depended on, 0 if not too many; and the number of merged layers
     * @throws MayflyError flatten_failed, sandbox_not_running, quota_exceeded, host_disk_full
     */
    async flatten({ sandboxId }: StepTarget): Promise<{ leantOn: number; merged?: number }> {
      const chainLength = await snapshots.chainLength(sandboxId);
      if (chainLength <= LONGEST_CHAIN) {
        return { leantOn: 0, merged: await snapshots.mergeDeleted(sandboxId, stepContext()) };
      }
      await room.checkFlat(sandboxId);
      await snapshots.flatten(sandboxId, stepContext());
      return { leantOn: chainLength };
    },
    async thaw({ sandboxId }: StepTarget): Promise<void> {
      await snapshots.thaw(sandboxId);
    },
    /** @returns the dependent that still needs it; null when nothing of it is left */
    async removeSnapshot({ snapshotId }: SnapshotTarget): Promise<{ keptFor: string | null }> {
      return snapshots.remove(snapshotId);
    },

    /**
     * Closes connections to a guest before a restore: running commands end for their callers, and none can start. The
     * record must be `restoring` by now, to prevent new connections.
     */
    async interruptCommands({ sandboxId }: StepTarget): Promise<void> {
      guests.close(sandboxId);
      await commandRuns.interruptAll(sandboxId);
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
     * @param onlyWithRoom false for compensations, which must succeed; the host suspends the sandbox again if necessary
     * @throws MayflyError sandbox_not_running, quota_exceeded, host_disk_full
     */
    async resume({ sandboxId, onlyWithRoom }: StepTarget & { onlyWithRoom?: boolean }): Promise<void> {
      if (onlyWithRoom) await room.check(sandboxId);
      await hypervisor.resume(sandboxId);
    },
    /**
     * Closes connections to the guest first, which would hang until its wake. Processes in it continue then.
     * @throws MayflyError sandbox_not_running, hibernate_failed, hibernation_unsupported, host_disk_full
     */
    async hibernate({ sandboxId }: StepTarget): Promise<void> {
      const memoryMib = await hypervisor.residentMib(sandboxId);
      const isInMemory = memoryMib > 0; // else hibernated already, or off: nothing is written
      if (isInMemory) assertSpace(await hypervisor.disk(), `The memory of ${sandboxId}`, memoryMib * 1_048_576);
      guests.close(sandboxId, new MayflyError('sandbox_not_running', `${sandboxId} is being hibernated.`));
      await hypervisor.hibernate(sandboxId, stepContext());
    },
    /** @throws MayflyError sandbox_not_running, wake_failed */
    async wake({ sandboxId, wished }: StepTarget & { wished: 'running' | 'paused' }): Promise<void> {
      await hypervisor.wake(sandboxId, wished, stepContext());
    },
  };
}
