import type { PreemptionReason } from '../../model/pools/pool-saga.ts';
import { canFreeCapacity, sortReadyFirst } from '../../model/pools/preemption.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import type { StoredMember } from '../../store/sandboxes/pool-members.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { pollUntil } from '../step/until.ts';

/** Timeout for victims to end, ms: after that, their host does not answer. */
export const GONE_WITHIN_MS = 15_000;

interface Wanted {
  hostId: string;
  source: string;
  /** Memory, MiB; null: the source's. */
  memoryMib: number | null;
  count: number;
}

export class Preemption {
  constructor(private readonly deps: SagaDeps) {}

  /**
   * Evicts the first members and waits until they have ended: those already ending first.
   * @returns true when a retry is worthwhile: one has ended, or more remain
   */
  async evict(members: readonly StoredMember[], count: number, why: PreemptionReason): Promise<boolean> {
    const ending = await this.#ending(members);
    if ((await this.#goneOf(ending)) > 0) return true;
    const spare = members.filter(({ id }) => !ending.includes(id));
    const named = spare.slice(0, count).flatMap(({ pool, ...rest }) => (pool ? [{ ...rest, pool }] : []));
    const victims = await this.deps.reconciliation.pools.evict(named, why);
    return (await this.#goneOf(victims)) > 0 || spare.length > count;
  }

  async #ending(members: readonly StoredMember[]): Promise<string[]> {
    const destroying = members.filter(({ state }) => state === 'destroying');
    const records = await Promise.all(destroying.map(({ id }) => this.deps.store.sandboxes.get(id)));
    return records.flatMap((record) => (record?.waitingFor === null ? [record.id] : []));
  }

  /** Returns how many have ended, once all have, or at the timeout. */
  #goneOf(ids: readonly string[]): Promise<number> {
    const tooLate = Date.now() + GONE_WITHIN_MS;
    return pollUntil(async () => {
      const records = await Promise.all(ids.map((id) => this.deps.store.sandboxes.get(id)));
      const gone = records.filter((record) => !record || isFinal(record.state)).length;
      return gone === ids.length || Date.now() > tooLate ? gone : null;
    });
  }
}

export function createPreemptionActivities({ store, preemption }: { store: Store; preemption: Preemption }) {
  return {
    /**
     * Evicts members of any pool on a host that lacked room; none when even all of them would not suffice.
     * @returns true when a retry is worthwhile
     */
    async evictMembers({ hostId, source, memoryMib, count }: Wanted): Promise<boolean> {
      const members = (await store.poolMembers.unclaimed()).filter((member) => member.hostId === hostId);
      const host = members.length > 0 ? await store.hosts.get(hostId) : null;
      if (!host || !canFreeCapacity(host, members, { source, memoryMib })) return false;
      return preemption.evict(sortReadyFirst(members), count, { code: 'capacity_exhausted' });
    },
  };
}
