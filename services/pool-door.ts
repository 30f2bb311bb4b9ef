import type { Logger } from 'pino';
import { MayflyError } from '../model/errors.ts';
import type { Miss } from '../model/pools/claim-refusal.ts';
import type { PoolClaims, PoolRecord } from '../model/pools/pool.ts';
import { poolIdOf } from '../model/pools/pool-saga.ts';
import type { Sagas } from '../temporal/temporal-sagas.ts';

/** One signal tells of all creates of so long: a run of a workflow takes only so many. Milliseconds. */
const TOLD_EVERY_MS = 250;

/** Told how each create came out that might have had a member of a pool. */
export type ClaimCount = (pool: PoolOf, outcome: 'hit' | Miss) => void;

type PoolOf = Pick<PoolRecord, 'project' | 'name'>;

/**
 * What one process of the API keeps of pools: which members it is asking, so that it does not ask one for two callers at once
 * (Temporal lets ten ask of one run), and what creates came to, which it tells a pool a few times a second at most.
 */
export class PoolDoor {
  readonly #untold = new Map<string, { pool: PoolOf; claims: PoolClaims }>();
  #isTelling = false;
  readonly #asked = new Map<string, Promise<unknown>>();

  constructor(
    private readonly deps: { sagas: Pick<Sagas, 'pools'>; logger: Pick<Logger, 'info'> },
    private readonly count: ClaimCount,
  ) {}

  /** Asks a member, unless somebody is asking it already: null then. @param isPatient asks it after them */
  async ask<T>(sandboxId: string, run: () => Promise<T>, isPatient: boolean): Promise<T | null> {
    for (let other = this.#asked.get(sandboxId); other; other = this.#asked.get(sandboxId)) {
      if (!isPatient) return null;
      await other.catch(() => undefined); // whoever asked hears of it
    }
    const asking = run().finally(() => this.#asked.delete(sandboxId));
    this.#asked.set(sandboxId, asking);
    return asking;
  }

  note({ project, name }: PoolOf, came: 'hit' | Miss): void {
    const pool = { project, name };
    this.count(pool, came);
    const outcome = came === 'hit' ? 'hits' : 'misses';
    const { claims } = this.#untold.get(poolIdOf(pool)) ?? { claims: { hits: 0, misses: 0 } };
    this.#untold.set(poolIdOf(pool), { pool, claims: { ...claims, [outcome]: claims[outcome] + 1 } });
    if (this.#isTelling) return;
    this.#isTelling = true;
    setTimeout(() => void this.#tell(), TOLD_EVERY_MS).unref();
  }

  /** What is not heard is lost: it only says how many members are wanted. */
  async #tell(): Promise<void> {
    this.#isTelling = false;
    const untold = [...this.#untold.values()];
    this.#untold.clear();
    for (const { pool, claims } of untold) {
      try {
        await this.deps.sagas.pools.used(pool, claims);
      } catch (error) {
        if (!(error instanceof MayflyError)) throw error;
        this.deps.logger.info({ err: error, pool: pool.name }, 'a pool does not hear how it is used');
      }
    }
  }
}
