import type { Hypervisor } from '../host/hypervisor.ts';
import type { Ledger } from '../host/ledger.ts';
import type { ReserveInput, StepTarget } from './steps.ts';

/** Room on the host: promised before anything is made, given back last. */
export function createReservationActivities({ hypervisor, ledger }: { hypervisor: Hypervisor; ledger: Ledger }) {
  return {
    /**
     * Promises memory and disk to the sandbox, or refuses.
     * @throws MayflyError source_not_found, source_running, source_unsafe, capacity_exhausted
     */
    async reserve({ sandboxId, source, memoryMib }: ReserveInput): Promise<void> {
      const golden = await hypervisor.source(source);
      const promise = { sandboxId, memoryMib: memoryMib ?? golden.memoryMib, diskBytes: golden.diskBytes };
      const capacity = await hypervisor.capacity();
      const others = ledger.sandboxIds().filter((id) => id !== sandboxId);
      const grown = await Promise.all(others.map(async (id) => [id, await hypervisor.usage(id)] as const));
      await ledger.reserve(promise, capacity, new Map(grown));
    },

    async releaseReservation({ sandboxId }: StepTarget): Promise<void> {
      await ledger.release(sandboxId);
    },
  };
}

export type ReservationActivities = ReturnType<typeof createReservationActivities>;
