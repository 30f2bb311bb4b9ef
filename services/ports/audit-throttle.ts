import { TtlCache } from '../ttl-cache.ts';

/** Period in which one audit event covers all connections of one key to one port, ms. */
const PERIOD_MS = 60_000;

/** Limit of audit events of connections: a browser opens many per second, all the same access. */
export class AuditThrottle {
  readonly #recorded = new TtlCache<void>({ ttlMs: PERIOD_MS });

  /**
   * Records the first access of a period. Concurrent callers share one record; after a failure the next caller records
   * again.
   * @param access.by id of the key or token
   */
  once({ by, sandboxId, port }: { by: string; sandboxId: string; port: number }, record: () => Promise<void>) {
    return this.#recorded.get(`${by} ${sandboxId} ${port}`, record);
  }
}
