import { isLive } from '../../model/host.ts';
import type { PoolRecord } from '../../model/pools/pool.ts';
import { isShared, type PoolMember, type PoolObservation } from '../../model/pools/pool-saga.ts';
import type { StoredMember } from '../../store/sandboxes/pool-members.ts';
import type { SagaDeps } from '../step/saga-deps.ts';

type PoolOf = Pick<PoolRecord, 'project' | 'name'>;

/** Activities on the records of pools, and on the members that a pool's workflow observes. */
export function createPoolActivities({ store, reconciliation }: SagaDeps) {
  return {
    async recordPool({ record }: { record: PoolRecord }): Promise<void> {
      await store.pools.put(record);
      if (record.state === 'deleted' && isShared(record)) await store.poolShares.forget(record);
    },

    /** Returns the record; null when absent or deleted. */
    async recallPool(of: PoolOf): Promise<PoolRecord | null> {
      return store.pools.get(of);
    },

    /** Observes a pool without changes. @param source of its members */
    async sightOfPool({ source, ...of }: PoolOf & { source: string }): Promise<PoolObservation> {
      const [members, underWay, hosts, record] = await Promise.all([
        store.poolMembers.of(of),
        store.poolMembers.underWay(),
        store.hosts.list(),
        store.pools.get(of),
      ]);
      const having = hosts
        .filter((host) => isLive(host))
        .flatMap(({ id, capacity, sources }) => {
          const own = sources.find(({ name }) => name === source);
          return own ? [{ id, cpus: capacity.cpus, content: own.content ?? null }] : [];
        });
      return {
        isRecorded: record !== null,
        members: members.map(memberOf),
        cpus: having.reduce((sum, { cpus }) => sum + cpus, 0),
        making: underWay.members,
        creates: underWay.others,
        drainedHostIds: hosts.filter(({ drainedAt }) => drainedAt).map(({ id }) => id),
        contents: Object.fromEntries(having.map(({ id, content }) => [id, content])),
      };
    },

    /** Retires unclaimed members. The next round retries those that can't be reached now. */
    async retireMembers({ sandboxIds }: { sandboxIds: string[] }): Promise<void> {
      await Promise.all(sandboxIds.map((id) => reconciliation.pools.retire(id)));
    },

    /** Retires, as {@link retireMembers}, all members of earlier revisions. */
    async retireEarlier({ revision, ...of }: PoolOf & { revision: number }): Promise<void> {
      const members = await store.poolMembers.of(of);
      const earlier = members.filter(({ pool, state }) => pool?.revision !== revision && state !== 'destroying');
      await Promise.all(earlier.map(({ id }) => reconciliation.pools.retire(id)));
    },
  };
}

function memberOf({ id, state, pool, ...rest }: StoredMember): PoolMember {
  const { hostId, installationId, createdAt, size } = rest;
  return {
    sandboxId: id,
    stage: state === 'warm' ? 'warm' : state === 'destroying' ? 'ending' : 'making',
    hostId,
    installationId,
    revision: pool?.revision ?? 0,
    content: pool?.content ?? null,
    memoryMib: size?.memoryMib ?? 0,
    createdAt,
    warmAt: pool?.warmAt ?? null,
  };
}
