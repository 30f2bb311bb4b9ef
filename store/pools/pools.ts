import type { Connection, Model } from 'mongoose';
import { POOL_STATES, type PoolRecord, poolIdOf } from '../../model/pools/pool.ts';
import { CACHE_LIFETIME_MS } from '../mongo/cache-lifetime.ts';
import { reaching } from '../mongo/failure.ts';
import {
  actorPart,
  NAME,
  NULLABLE_NUMBER,
  NULLABLE_TEXT,
  NUMBER,
  SEALED,
  strictPart,
  strictSchema,
} from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

type PoolDocument = PoolRecord & { _id: string };

/** The records of pools, `_id` = `<project>/<name>`. Few; each is written by its own workflow only. */
export class Pools {
  readonly #model: Model<PoolDocument>;
  readonly #fields: SealedFields;
  #known: { at: number; all: Promise<PoolRecord[]> } | null = null;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('pools');
    const wish = { source: NAME, cpus: NULLABLE_NUMBER, memoryMib: NULLABLE_NUMBER, egress: NAME };
    const schema = strictSchema<PoolDocument>({
      _id: NAME,
      project: NAME,
      name: NAME,
      ...wish,
      min: NUMBER,
      max: NUMBER,
      revision: NUMBER,
      state: { type: String, required: true, enum: POOL_STATES },
      wanted: NUMBER,
      refills: { type: Number },
      reason: SEALED,
      retryAt: NULLABLE_TEXT,
      idle: { type: strictPart({ mibHours: NUMBER, at: NAME }), required: true },
      claims: { type: strictPart({ hits: NUMBER, misses: NUMBER }), required: true },
      createdBy: { type: actorPart(), required: true },
      createdAt: NAME,
      updatedAt: NAME,
    });
    this.#model = connection.model<PoolDocument>('Pool', schema, 'pools');
  }

  /** Null when there is none, or it was deleted. */
  async get(of: Pick<PoolRecord, 'project' | 'name'>): Promise<PoolRecord | null> {
    const found = await reaching('read a pool', () => this.#model.findById(poolIdOf(of)).lean<PoolDocument>());
    return found && found.state !== 'deleted' ? this.#record(found) : null;
  }

  /** Writes all of it, in place of one of that name. */
  async put(record: PoolRecord): Promise<void> {
    const _id = poolIdOf(record);
    const document = this.#fields.sealed(_id, { _id, ...record });
    await reaching('record a pool', () =>
      this.#model.replaceOne({ _id }, document, { upsert: true, runValidators: true }),
    );
  }

  /** All that were not deleted, by project and name. */
  async all(): Promise<PoolRecord[]> {
    const found = await reaching('read the pools', () => this.#model.find().lean<PoolDocument[]>());
    const present = found.filter(({ state }) => state !== 'deleted').sort((a, b) => (a._id < b._id ? -1 : 1));
    return this.#fields.records(present, recordOf);
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

  #record(document: PoolDocument): PoolRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, ...record }: PoolDocument): PoolRecord {
  return record;
}
