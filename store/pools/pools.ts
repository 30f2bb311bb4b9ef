import { type PoolRecord, poolRecord } from '../../model/pools/pool.ts';
import { poolIdOf } from '../../model/pools/pool-saga.ts';
import { BriefCache } from '../mongo/cache-lifetime.ts';
import { repositoryOf } from '../repository/repository.ts';

/** The records of pools, `_id` = `<project>/<name>`. Few; each is written by its own workflow only. */
export class Pools extends repositoryOf({ collection: 'pools', noun: 'a pool', model: poolRecord }) {
  readonly #known = new BriefCache(() => this.all());

  /** Null when there is none, or it was deleted. */
  async get(of: Pick<PoolRecord, 'project' | 'name'>): Promise<PoolRecord | null> {
    const found = await this.findById(poolIdOf(of));
    return found && found.state !== 'deleted' ? found : null;
  }

  /** Writes all of it, in place of one of that name. */
  async put(record: PoolRecord): Promise<void> {
    await this.overwrite({ _id: poolIdOf(record), ...record });
  }

  /** All that were not deleted, by project and name. */
  async all(): Promise<PoolRecord[]> {
    const present = (await this.find({})).filter(({ state }) => state !== 'deleted');
    return present.sort((a, b) => (poolIdOf(a) < poolIdOf(b) ? -1 : 1));
  }

  /** The same, for creates, each of which asks for it; what has just changed may be missing. */
  known(): Promise<PoolRecord[]> {
    return this.#known.get();
  }
}
