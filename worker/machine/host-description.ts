import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Hypervisor } from '../../host/hypervisor.ts';
import type { Ledger } from '../../host/ledger.ts';
import type { HostRecord } from '../../model/host.ts';
import { DEFAULT_INTERVALS } from '../../model/intervals.ts';
import type { Store } from '../../store/connect.ts';

export interface DescriptionDeps {
  hostId: string;
  hypervisor: Hypervisor;
  ledger: Ledger;
  store: Store;
  logger: Logger;
  /** `@default` {@link DEFAULT_INTERVALS} */
  describeMs?: number;
}

/** Tells the store every few seconds what this host is and has, so that placement can propose it. */
export class HostDescription {
  readonly #stopped = new AbortController();
  readonly #startedAt = new Date().toISOString();
  #loop: Promise<void> = Promise.resolve();

  constructor(private readonly deps: DescriptionDeps) {}

  /** Describes the host once, so that it can be proposed when this returns, and goes on doing so. */
  async start(): Promise<void> {
    await this.#describe();
    this.#loop = this.#repeat();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#stopped;
    const { describeMs = DEFAULT_INTERVALS.describeMs } = this.deps;
    while (!signal.aborted) {
      await sleep(describeMs, undefined, { signal }).catch(() => undefined); // the abort ends the loop
      if (signal.aborted) return;
      try {
        await this.#describe();
      } catch (error) {
        this.deps.logger.warn({ err: error }, 'this host could not be described; it is not proposed until it can');
      }
    }
  }

  async #describe(): Promise<void> {
    const { hostId, hypervisor, ledger, store } = this.deps;
    const [capacity, sources] = await Promise.all([hypervisor.capacity(), hypervisor.sources()]);
    const record: HostRecord = {
      id: hostId,
      kind: hypervisor.kind,
      isolation: hypervisor.isolation,
      capacity,
      promised: ledger.totals(),
      sources,
      startedAt: this.#startedAt,
      lastSeenAt: new Date().toISOString(),
    };
    await store.hosts.describe(record);
  }
}
