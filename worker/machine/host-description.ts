import type { Logger } from 'pino';
import type { Hypervisor } from '../../host/hypervisor.ts';
import type { Ledger } from '../../host/ledger.ts';
import { setIntervalAsync } from '../../host/os/repeating.ts';
import { isMayflyError } from '../../model/errors.ts';
import type { Observer, SourceInfo } from '../../model/host.ts';
import { DEFAULT_INTERVALS } from '../../model/intervals.ts';
import type { Store } from '../../store/connect.ts';
import { SharedSources } from './shared-sources.ts';

interface DescriptionDeps {
  observer: Observer;
  hypervisor: Hypervisor;
  ledger: Ledger;
  store: Store;
  logger: Logger;
  /** `@default` {@link DEFAULT_INTERVALS} */
  describeMs?: number;
}

/** Writes this host's state and resources to the store every few seconds, so that placement can choose it. */
export class HostReporter {
  readonly #stopped = new AbortController();
  readonly #startedAt = new Date().toISOString();
  #stopLoop: () => Promise<void> = async () => {};
  readonly #shared: SharedSources;
  #reading: Promise<void> | null = null;
  #epoch = 0;
  #isFenced = false;
  #fenced: (why: Error) => void = () => {};
  /** Rejects when another worker has taken the host over: this one must end. */
  readonly fenced: Promise<never>;

  constructor(private readonly deps: DescriptionDeps) {
    const { observer, hypervisor, store, logger } = deps;
    this.#shared = new SharedSources({ hostId: observer.hostId, hypervisor, store, logger });
    this.fenced = new Promise((_resolve, reject) => {
      this.#fenced = reject;
    });
    this.fenced.catch(() => undefined); // its awaiter handles the rejection
  }

  /**
   * Makes this worker the host's only one, before it takes any work.
   * @throws MayflyError host_taken, another_installation
   */
  async claim(): Promise<void> {
    const { store, observer } = this.deps;
    const { hostId: id, installationId, kind, hostUuid } = observer;
    this.#epoch = await store.hosts.claim({ id, installationId, kind, hostUuid, startedAt: this.#startedAt });
  }

  /** Describes the host once, so that placement can choose it on return, then periodically. */
  async start(): Promise<void> {
    await this.#describe();
    const { describeMs = DEFAULT_INTERVALS.describeMs } = this.deps;
    this.#stopLoop = setIntervalAsync(() => this.#describeAgain(), describeMs, false);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#stopLoop();
    await this.#reading;
    const { store, observer, logger } = this.deps;
    try {
      await store.hosts.leave({ id: observer.hostId, epoch: this.#epoch });
    } catch (error) {
      logger.warn({ err: error }, 'this host could not be left; another installation may have its id in half a minute');
    }
  }

  async #describeAgain(): Promise<void> {
    if (this.#isFenced) return;
    try {
      await this.#describe();
    } catch (error) {
      this.#isFenced = isMayflyError(error, 'host_taken');
      if (this.#isFenced) return this.#fenced(error as Error);
      this.deps.logger.warn({ err: error }, 'this host could not be described; it is not proposed until it can');
    }
  }

  async #describe(): Promise<void> {
    const { observer, hypervisor, ledger, store } = this.deps;
    const { hostId: id, installationId, kind, hostUuid } = observer;
    const [capacity, sources] = await Promise.all([hypervisor.capacity(), hypervisor.sources()]);
    await store.hosts.describe({
      id,
      installationId,
      hostUuid,
      epoch: this.#epoch,
      kind,
      isolation: hypervisor.isolation,
      capacity,
      promised: ledger.totals(),
      sources,
      startedAt: this.#startedAt,
    });
    this.#hashSharedSources(sources);
  }

  /** Runs concurrently with descriptions: it may take minutes. */
  #hashSharedSources(sources: readonly SourceInfo[]): void {
    this.#reading ??= this.#shared
      .read(sources, this.#stopped.signal)
      .catch((error: unknown) => this.deps.logger.warn({ err: error }, 'sources of several hosts are not compared yet'))
      .finally(() => {
        this.#reading = null;
      });
  }
}
