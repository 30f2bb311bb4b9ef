import type { Hypervisor } from '../../host/hypervisor.ts';
import { CapacityExhausted, type Grown, type Ledger, NO_USAGE } from '../../host/ledger.ts';
import type { Capacity, SourceInfo } from '../../model/host.ts';
import { assertSpace } from '../../model/snapshots/storage.ts';
import type { StorageRoom } from '../snapshot/storage-room.ts';
import type { ReserveInput, StepTarget } from '../step/steps.ts';

interface ReservationDeps {
  hypervisor: Hypervisor;
  ledger: Ledger;
  room: Pick<StorageRoom, 'checkAwake'>;
}

/** Usage of sandboxes, measured once at a time: concurrent callers share a result, so later growth counts twice. */
class UsageMeter {
  readonly #underWay = new Map<keyof Grown, Promise<ReadonlyMap<string, number>>>();

  constructor(
    private readonly hypervisor: Pick<Hypervisor, 'residentMibOfAll' | 'diskBytes'>,
    private readonly ledger: Pick<Ledger, 'sandboxIds'>,
  ) {}

  measure(what: keyof Grown): Promise<ReadonlyMap<string, number>> {
    const before = this.#underWay.get(what);
    if (before) return before;
    const sizes = what === 'memoryMib' ? this.hypervisor.residentMibOfAll() : this.#disks();
    const measured = sizes.finally(() => this.#underWay.delete(what));
    this.#underWay.set(what, measured);
    return measured;
  }

  /** Measures disks. Only system calls, so without batching. */
  async #disks(): Promise<ReadonlyMap<string, number>> {
    const ids = this.ledger.sandboxIds();
    return new Map(await Promise.all(ids.map(async (id) => [id, await this.hypervisor.diskBytes(id)] as const)));
  }
}

/** Activities for capacity on the host: reserved before anything is made, released last. */
export function createReservationActivities({ hypervisor, ledger, room }: ReservationDeps) {
  const sizes = new UsageMeter(hypervisor, ledger);

  /**
   * Reserves with measured usage only when capacity is lacking without it: a measurement inspects every sandbox. Usage
   * is read before capacity, so capacity taken in between counts twice, never zero times.
   */
  async function withCapacity(promise: (capacity: Capacity, grown: Grown) => Promise<void>): Promise<void> {
    const grown: { -readonly [What in keyof Grown]?: Grown[What] } = {};
    for (;;) {
      try {
        return await promise(await hypervisor.capacity(), { ...NO_USAGE, ...grown });
      } catch (error) {
        if (!(error instanceof CapacityExhausted) || grown[error.lacks]) throw error;
        grown[error.lacks] = await sizes.measure(error.lacks);
      }
    }
  }

  /** Returns its memory without an override, MiB. */
  async function ownMemory({ snapshotId }: ReserveInput, source: SourceInfo): Promise<number> {
    const saved = snapshotId ? await hypervisor.snapshots.resources(snapshotId) : null;
    return saved?.memoryMib ?? source.memoryMib;
  }

  return {
    /**
     * @throws MayflyError source_not_found, source_running, source_unsafe, snapshot_not_found, capacity_exhausted,
     * host_disk_full
     */
    async reserve(input: ReserveInput): Promise<void> {
      const { sandboxId } = input;
      assertSpace(await hypervisor.disk(), sandboxId);
      const golden = await hypervisor.source(input.source);
      const memoryMib = input.memoryMib ?? (await ownMemory(input, golden));
      const promise = { sandboxId, memoryMib, diskBytes: golden.diskBytes };
      await withCapacity((...measures) => ledger.reserve(promise, ...measures));
    },

    /** Releases the memory of a hibernated sandbox. */
    async yieldMemory({ sandboxId }: StepTarget): Promise<void> {
      await ledger.yieldMemory(sandboxId);
    },

    /** Reacquires memory before a wake, within its quotas. @throws MayflyError capacity_exhausted, quota_exceeded */
    async retakeMemory({ sandboxId }: StepTarget): Promise<void> {
      await room.checkAwake(sandboxId);
      await withCapacity((...measures) => ledger.retakeMemory(sandboxId, ...measures));
    },

    async releaseReservation({ sandboxId }: StepTarget): Promise<void> {
      await ledger.release(sandboxId);
    },
  };
}

export type ReservationActivities = ReturnType<typeof createReservationActivities>;
