import type { Connection } from 'mongoose';
import { type PoolRecord, poolRecord } from '../../model/pools/pool.ts';
import { poolIdOf } from '../../model/pools/pool-saga.ts';
import { CACHE_LIFETIME_MS } from '../mongo/cache-lifetime.ts';
import { Repository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** The records of pools, `_id` = `<project>/<name>`. Few; each is written by its own workflow only. */
export class Pools extends Repository<PoolRecord> {
  #known: { at: number; all: Promise<PoolRecord[]> } | null = null;

  constructor(connection: Connection, sealing: Sealing) {
    super(connection, sealing, { collection: 'pools', noun: 'a pool', model: poolRecord });
  }

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
    if (this.#known && performance.now() - this.#known.at < CACHE_LIFETIME_MS) return this.#known.all;
    const known = { at: performance.now(), all: this.all() };
    this.#known = known;
    known.all.catch(() => {
      this.#known = null;
    });
    return known.all;
  }
}
