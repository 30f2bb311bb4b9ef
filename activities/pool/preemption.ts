import type { PreemptionReason } from '../../model/pools/pool-saga.ts';
import { mayHaveRoom, readyFirst } from '../../model/pools/preemption.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import type { StoredMember } from '../../store/sandboxes/pool-members.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { until } from '../step/until.ts';

/** Members are gone by then, or their host does not answer. Milliseconds. */
export const GONE_WITHIN_MS = 15_000;

interface Wanted {
  hostId: string;
  source: string;
  /** MiB; null: as the source has. */
  memoryMib: number | null;
  count: number;
}

export class Preemption {
  constructor(private readonly deps: SagaDeps) {}

  /**
   * Evicts the first of these and waits until it is gone: those that end already first, those whose host is off last.
   * @returns whether another try is worthwhile: one is gone, or there are more
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

  /** How many of these are gone, as soon as all are, or when it is too late. */
  #goneOf(ids: readonly string[]): Promise<number> {
    const tooLate = Date.now() + GONE_WITHIN_MS;
    return until(async () => {
      const records = await Promise.all(ids.map((id) => this.deps.store.sandboxes.get(id)));
      const gone = records.filter((record) => !record || isFinal(record.state)).length;
      return gone === ids.length || Date.now() > tooLate ? gone : null;
    });
  }
}

export function createPreemptionActivities({ store, preemption }: { store: Store; preemption: Preemption }) {
  return {
    /**
     * Evicts members of any pool on a host that refused for want of room; none where all of them would not do.
     * @returns whether another try is worthwhile
     */
    async evictMembers({ hostId, source, memoryMib, count }: Wanted): Promise<boolean> {
      const members = (await store.poolMembers.unclaimed()).filter((member) => member.hostId === hostId);
      const host = members.length > 0 ? await store.hosts.get(hostId) : null;
      if (!host || !mayHaveRoom(host, members, { source, memoryMib })) return false;
      return preemption.evict(readyFirst(members), count, { code: 'capacity_exhausted' });
    },
  };
}
