import type { Logger } from 'pino';
import { MayflyError } from '../model/errors.ts';
import type { MissReason } from '../model/pools/claim-refusal.ts';
import type { PoolClaims, PoolRecord } from '../model/pools/pool.ts';
import { poolId } from '../model/pools/pool-saga.ts';
import type { ApiWorkflows } from '../temporal/temporal-sagas.ts';

/** Interval between two signals to pools, ms: a run of a workflow takes only so many. */
const FLUSH_MS = 250;

/** Counts a create that a pool could serve. */
export type ClaimCount = (pool: PoolOf, outcome: 'hit' | MissReason) => void;

type PoolOf = Pick<PoolRecord, 'project' | 'name'>;

/**
 * Claims of one API process: one in flight per member, since a workflow run takes ten updates at once; and batched
 * signals of the hits and misses of pools.
 */
export class PoolDoor {
  readonly #pending = new Map<string, { pool: PoolOf; claims: PoolClaims }>();
  #isScheduled = false;
  readonly #inFlight = new Map<string, Promise<unknown>>();

  constructor(
    private readonly deps: { sagas: Pick<ApiWorkflows, 'pools'>; logger: Pick<Logger, 'info'> },
    private readonly count: ClaimCount,
  ) {}

  /** Runs a claim of a member; null while another one is in flight. @param shouldWait true to wait for that one first */
  async ask<T>(sandboxId: string, run: () => Promise<T>, shouldWait: boolean): Promise<T | null> {
    for (let other = this.#inFlight.get(sandboxId); other; other = this.#inFlight.get(sandboxId)) {
      if (!shouldWait) return null;
      await other.catch(() => undefined); // its own caller gets the error
    }
    const asking = run().finally(() => this.#inFlight.delete(sandboxId));
    this.#inFlight.set(sandboxId, asking);
    return asking;
  }

  note({ project, name }: PoolOf, outcome: 'hit' | MissReason): void {
    const pool = { project, name };
    this.count(pool, outcome);
    const counter = outcome === 'hit' ? 'hits' : 'misses';
    const { claims } = this.#pending.get(poolId(pool)) ?? { claims: { hits: 0, misses: 0 } };
    this.#pending.set(poolId(pool), { pool, claims: { ...claims, [counter]: claims[counter] + 1 } });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => void this.#flush(), FLUSH_MS).unref();
  }

  /** Sends the counts. A lost signal only delays a refill. */
  async #flush(): Promise<void> {
    this.#isScheduled = false;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { pool, claims } of pending) {
      try {
        await this.deps.sagas.pools.used(pool, claims);
      } catch (error) {
        if (!(error instanceof MayflyError)) throw error;
        this.deps.logger.info({ err: error, pool: pool.name }, 'the hits and misses of a pool were not signalled');
      }
    }
  }
}
