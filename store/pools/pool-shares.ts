import { z } from 'zod';
import type { PoolRecord } from '../../model/pools/pool.ts';
import { poolIdOf } from '../../model/pools/pool-saga.ts';
import { repositoryOf } from '../repository/repository.ts';

const hadShare = z.object({
  version: z.int().describe('Raised by every change: who has read an older one reads again'),
  refill: z.int().describe('Of the pool, when these were had'),
  sandboxIds: z.array(z.string()),
});

type PoolOf = Pick<PoolRecord, 'project' | 'name'>;

/** How much of a pool that projects share one of them may have. */
interface Share {
  pool: PoolOf;
  project: string;
  /** How often the pool has been filled: with each, everybody begins anew. */
  refill: number;
  /** Members until then. */
  most: number;
}

/**
 * What each project has had of a shared pool since that was last filled, `_id` = `<pool>/<project>`. One document of each, which is changed only by who
 * has seen its latest version, so that of two claims at once one counts the other.
 */
export class PoolShares extends repositoryOf({ collection: 'poolShares', noun: 'a share', model: hadShare }) {
  /** Whether there is something left of it now. Somebody else may have it a moment later. */
  async isLeft({ pool, project, refill, most }: Share): Promise<boolean> {
    const found = await this.findById(idOf(pool, project));
    return had(found, refill).length < most;
  }

  /** Counts a member. The same again counts once. @returns false: there is nothing left */
  async take({ pool, project, refill, most }: Share, sandboxId: string): Promise<boolean> {
    const _id = idOf(pool, project);
    for (;;) {
      const found = await this.findById(_id);
      const before = had(found, refill);
      if (before.includes(sandboxId)) return true;
      if (before.length >= most) return false;
      const next = { refill, sandboxIds: [...before, sandboxId] };
      if (await this.writeVersion(_id, found?.version ?? 0, next)) return true;
    }
  }

  /** It did not come to have that member. */
  async giveBack({ pool, project }: Pick<Share, 'pool' | 'project'>, sandboxId: string): Promise<void> {
    const _id = idOf(pool, project);
    for (;;) {
      const found = await this.findById(_id);
      if (!found?.sandboxIds.includes(sandboxId)) return;
      const { version, refill } = found;
      const sandboxIds = found.sandboxIds.filter((id) => id !== sandboxId);
      if (await this.writeVersion(_id, version, { refill, sandboxIds })) return;
    }
  }

  /** Of a pool that is gone. */
  async forget(pool: PoolOf): Promise<void> {
    const _id = { $gte: idOf(pool, ''), $lt: `${poolIdOf(pool)}0` }; // 0 comes after the slash
    await this.deleteAll({ _id });
  }
}

function idOf(pool: PoolOf, project: string): string {
  return `${poolIdOf(pool)}/${project}`;
}

/** Nothing yet when it was filled again since. */
function had(found: z.infer<typeof hadShare> | null, refill: number): readonly string[] {
  return found?.refill === refill ? found.sandboxIds : [];
}
