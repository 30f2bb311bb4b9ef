import type { Hypervisor } from '../../host/hypervisor.ts';
import type { Grown, Ledger } from '../../host/ledger.ts';
import { MayflyError } from '../../model/errors.ts';
import type { Capacity, SourceInfo } from '../../model/host.ts';
import { refuseFull } from '../../model/snapshots/storage.ts';
import type { StorageRoom } from '../snapshot/storage-room.ts';
import type { ReserveInput, StepTarget } from '../step/steps.ts';

export interface ReservationDeps {
  hypervisor: Hypervisor;
  ledger: Ledger;
  room: Pick<StorageRoom, 'checkAwake'>;
}

/** Room on the host: promised before anything is made, given back last. */
export function createReservationActivities({ hypervisor, ledger, room }: ReservationDeps) {
  /** Growth first, capacity then: what is taken in between counts twice, and never not at all. */
  async function measured(ids: string[]): Promise<[Capacity, Map<string, Grown>]> {
    const grown = await Promise.all(ids.map(async (id) => [id, await hypervisor.usage(id)] as const));
    return [await hypervisor.capacity(), new Map(grown)];
  }

  /** Who has grown how far is only measured when there is no room without it: it is a look at every sandbox. */
  async function withRoom(promise: (capacity: Capacity, grown: Map<string, Grown>) => Promise<void>): Promise<void> {
    try {
      await promise(await hypervisor.capacity(), new Map());
    } catch (err) {
      if (!(err instanceof MayflyError && err.code === 'capacity_exhausted')) throw err;
      await promise(...(await measured(ledger.sandboxIds())));
    }
  }

  /** MiB of memory that it has unless others are wished. */
  async function ownMemory({ snapshotId }: ReserveInput, source: SourceInfo): Promise<number> {
    const saved = snapshotId ? await hypervisor.snapshots.resources(snapshotId) : null;
    return saved?.memoryMib ?? source.memoryMib;
  }

  return {
    /**
     * Promises memory and disk to the sandbox, or refuses.
     * @throws MayflyError source_not_found, source_running, source_unsafe, snapshot_not_found, capacity_exhausted,
     *   host_disk_full
     */
    async reserve(input: ReserveInput): Promise<void> {
      const { sandboxId } = input;
      refuseFull(await hypervisor.disk(), sandboxId);
      const golden = await hypervisor.source(input.source);
      const memoryMib = input.memoryMib ?? (await ownMemory(input, golden));
      const promise = { sandboxId, memoryMib, diskBytes: golden.diskBytes };
      await withRoom((...measures) => ledger.reserve(promise, ...measures));
    },

    /** The memory of a sandbox that is hibernated is free for others. */
    async yieldMemory({ sandboxId }: StepTarget): Promise<void> {
      await ledger.yieldMemory(sandboxId);
    },

    /**
     * Takes it again before the sandbox is woken, which may not be a way around its quotas.
     * @throws MayflyError capacity_exhausted, quota_exceeded
     */
    async retakeMemory({ sandboxId }: StepTarget): Promise<void> {
      await room.checkAwake(sandboxId);
      await withRoom((...measures) => ledger.retakeMemory(sandboxId, ...measures));
    },

    async releaseReservation({ sandboxId }: StepTarget): Promise<void> {
      await ledger.release(sandboxId);
    },
  };
}

export type ReservationActivities = ReturnType<typeof createReservationActivities>;
