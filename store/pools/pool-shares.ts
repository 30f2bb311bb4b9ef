import type { Connection, Model } from 'mongoose';
import { type PoolRecord, poolIdOf } from '../../model/pools/pool.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, NUMBER, strictSchema } from '../mongo/schema.ts';

interface ShareDocument {
  /** `<pool>/<project>` */
  _id: string;
  /** Raised by every change: who has read an older one reads again. */
  version: number;
  /** Of the pool, when these were had. */
  refill: number;
  sandboxIds: string[];
}

type PoolOf = Pick<PoolRecord, 'project' | 'name'>;

/** How much of a pool that projects share one of them may have. */
export interface Share {
  pool: PoolOf;
  project: string;
  /** How often the pool has been filled: with each, everybody begins anew. */
  refill: number;
  /** Members until then. */
  most: number;
}

/**
 * What each project has had of a shared pool since that was last filled. One document of each, which is changed only by who
 * has seen its latest version, so that of two claims at once one counts the other.
 */
export class PoolShares {
  readonly #model: Model<ShareDocument>;

  constructor(connection: Connection) {
    const schema = strictSchema<ShareDocument>({
      _id: NAME,
      version: NUMBER,
      refill: NUMBER,
      sandboxIds: [String],
    });
    this.#model = connection.model<ShareDocument>('PoolShare', schema, 'poolShares');
  }

  /** Whether there is something left of it now. Somebody else may have it a moment later. */
  async isLeft({ pool, project, refill, most }: Share): Promise<boolean> {
    const found = await this.#find(idOf(pool, project));
    return had(found, refill).length < most;
  }

  /** Counts a member. The same again counts once. @returns false: there is nothing left */
  async take({ pool, project, refill, most }: Share, sandboxId: string): Promise<boolean> {
    const _id = idOf(pool, project);
    for (;;) {
      const found = await this.#find(_id);
      const before = had(found, refill);
      if (before.includes(sandboxId)) return true;
      if (before.length >= most) return false;
      const next = { refill, sandboxIds: [...before, sandboxId] };
      if (await this.#write(_id, found?.version ?? 0, next)) return true;
    }
  }

  /** It did not come to have that member. */
  async giveBack({ pool, project }: Pick<Share, 'pool' | 'project'>, sandboxId: string): Promise<void> {
    const _id = idOf(pool, project);
    for (;;) {
      const found = await this.#find(_id);
      if (!found?.sandboxIds.includes(sandboxId)) return;
      const { version, refill } = found;
      const sandboxIds = found.sandboxIds.filter((id) => id !== sandboxId);
      if (await this.#write(_id, version, { refill, sandboxIds })) return;
    }
  }

  /** Of a pool that is gone. */
  async forget(pool: PoolOf): Promise<void> {
    const _id = { $gte: idOf(pool, ''), $lt: `${poolIdOf(pool)}0` }; // 0 comes after the slash
    await reaching('forget who had members of a pool', () => this.#model.deleteMany({ _id }));
  }

  #find(_id: string): Promise<ShareDocument | null> {
    return reaching('read who had members of a pool', () => this.#model.findById(_id).lean<ShareDocument>());
  }

  /** False: somebody else has changed it since. */
  async #write(_id: string, version: number, { refill, sandboxIds }: Omit<ShareDocument, '_id' | 'version'>) {
    const set = { version: version + 1, refill, sandboxIds };
    try {
      const { matchedCount, upsertedCount } = await reaching('count who has members of a pool', () =>
        this.#model.updateOne(
          { _id, version: version === 0 ? { $exists: false } : version },
          { $set: set },
          { upsert: version === 0, runValidators: true },
        ),
      );
      return matchedCount + upsertedCount > 0;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }
}

function idOf(pool: PoolOf, project: string): string {
  return `${poolIdOf(pool)}/${project}`;
}

/** Nothing yet when it was filled again since. */
function had(found: ShareDocument | null, refill: number): readonly string[] {
  return found?.refill === refill ? found.sandboxIds : [];
}
