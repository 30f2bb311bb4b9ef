import { mayHaveRoom, readyFirst } from '../../model/pools/giving-way.ts';
import type { GaveWay } from '../../model/pools/pool-saga.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import type { StoredMember } from '../../store/sandboxes/pool-members.ts';
import type { Reconciliation } from '../../temporal/reconciliation.ts';
import { until } from '../step/until.ts';

/** Members are gone by then, or their host does not answer. Milliseconds. */
export const GONE_WITHIN_MS = 15_000;

interface Wanted {
  hostId: string;
  source: string;
  /** MiB; null: as the source has. */
  memoryMib: number | null;
  /** So many members are given up, if there are. */
  count: number;
}

/** Has members of pools end, for whoever has no room. */
export class GivingWay {
  constructor(private readonly deps: { store: Store; reconciliation: Reconciliation }) {}

  /**
   * The first of these, unless they are claimed; returns when they are gone. Those that end already are waited for first: on a
   * busy machine an end takes its time, and nobody else is given up for that. One whose end does not hold, since its host is off,
   * comes last instead.
   * @returns whether it is worth another try: something is gone, or there are more of them
   */
  async haveEnd(members: readonly StoredMember[], count: number, why: GaveWay): Promise<boolean> {
    const ending = await this.#ending(members);
    if ((await this.#goneOf(ending)) > 0) return true;
    const spare = members.filter(({ id }) => !ending.includes(id));
    const named = spare.slice(0, count).flatMap(({ pool, ...rest }) => (pool ? [{ ...rest, pool }] : []));
    const givenUp = await this.deps.reconciliation.pools.giveWay(named, why);
    return (await this.#goneOf(givenUp)) > 0 || spare.length > count;
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

/** How members of pools make room on a host. */
export function createGivingWayActivities({ store, givingWay }: { store: Store; givingWay: GivingWay }) {
  return {
    /**
     * Has members on a host that refused for want of room end, of whatever pools; where all of them would not do, none does.
     * @returns whether it is worth another try
     */
    async membersGiveWay({ hostId, source, memoryMib, count }: Wanted): Promise<boolean> {
      const members = (await store.poolMembers.unclaimed()).filter((member) => member.hostId === hostId);
      const host = members.length > 0 ? await store.hosts.get(hostId) : null;
      if (!host || !mayHaveRoom(host, members, { source, memoryMib })) return false;
      return givingWay.haveEnd(readyFirst(members), count, { code: 'capacity_exhausted' });
    },
  };
}
