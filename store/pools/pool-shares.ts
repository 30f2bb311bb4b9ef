import { z } from 'zod';
import type { PoolRecord } from '../../model/pools/pool.ts';
import { poolId } from '../../model/pools/pool-saga.ts';
import { repositoryOf } from '../repository/repository.ts';

const claimedShare = z.object({
  version: z.int().describe('Raised by every change: who has read an older one reads again'),
  refill: z.int().describe('Of the pool, when these were had'),
  sandboxIds: z.array(z.string()),
});

type PoolOf = Pick<PoolRecord, 'project' | 'name'>;

/** Share of one project in a shared pool. */
interface Share {
  pool: PoolOf;
  project: string;
  /** Number of refills of the pool; each resets the shares. */
  refill: number;
  /** Members until the next refill. */
  most: number;
}

/**
 * Members that each project has claimed from a shared pool since its last refill, `_id` = `<pool>/<project>`.
 * Optimistic locking makes concurrent claims count each other.
 */
export class PoolShares extends repositoryOf({ collection: 'poolShares', noun: 'a share', model: claimedShare }) {
  /** Reports whether a share has something left. A concurrent claim may take it. */
  async isLeft({ pool, project, refill, most }: Share): Promise<boolean> {
    const found = await this.findById(idOf(pool, project));
    return getClaimed(found, refill).length < most;
  }

  /** Counts a member. Idempotent. @returns false when the share is used up */
  async take({ pool, project, refill, most }: Share, sandboxId: string): Promise<boolean> {
    const _id = idOf(pool, project);
    for (;;) {
      const found = await this.findById(_id);
      const before = getClaimed(found, refill);
      if (before.includes(sandboxId)) return true;
      if (before.length >= most) return false;
      const next = { refill, sandboxIds: [...before, sandboxId] };
      if (await this.writeVersion(_id, found?.version ?? 0, next)) return true;
    }
  }

  /** Undoes {@link take} for a member that was not claimed. */
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

  /** Removes the shares of a deleted pool. */
  async forget(pool: PoolOf): Promise<void> {
    const _id = { $gte: idOf(pool, ''), $lt: `${poolId(pool)}0` }; // 0 comes after the slash
    await this.deleteAll({ _id });
  }
}

function idOf(pool: PoolOf, project: string): string {
  return `${poolId(pool)}/${project}`;
}

/** Returns nothing for a share of an earlier refill. */
function getClaimed(found: z.infer<typeof claimedShare> | null, refill: number): readonly string[] {
  return found?.refill === refill ? found.sandboxIds : [];
}
