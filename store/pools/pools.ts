import { type PoolRecord, poolRecord } from '../../model/pools/pool.ts';
import { poolId } from '../../model/pools/pool-saga.ts';
import { TtlCache } from '../mongo/cache-lifetime.ts';
import { repositoryOf } from '../repository/repository.ts';

/** Pools, `_id` = `<project>/<name>`. They are few; each is written by its own workflow only. */
export class Pools extends repositoryOf({ collection: 'pools', noun: 'a pool', model: poolRecord }) {
  readonly #known = new TtlCache(() => this.all());

  /** Returns null for an unknown or deleted pool. */
  async get(of: Pick<PoolRecord, 'project' | 'name'>): Promise<PoolRecord | null> {
    const found = await this.findById(poolId(of));
    return found && found.state !== 'deleted' ? found : null;
  }

  async put(record: PoolRecord): Promise<void> {
    await this.overwrite({ _id: poolId(record), ...record });
  }

  /** Returns all pools that are not deleted, by project and name. */
  async all(): Promise<PoolRecord[]> {
    const present = (await this.find({})).filter(({ state }) => state !== 'deleted');
    return present.sort((a, b) => (poolId(a) < poolId(b) ? -1 : 1));
  }

  /** As {@link all}, from a cache, since each create needs it; the latest change may be missing. */
  known(): Promise<PoolRecord[]> {
    return this.#known.get();
  }
}
