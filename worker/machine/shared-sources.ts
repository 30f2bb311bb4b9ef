import type { Logger } from 'pino';
import type { Hypervisor } from '../../host/hypervisor.ts';
import { isLive, type SourceInfo } from '../../model/host.ts';
import type { Store } from '../../store/connect.ts';

/** Retry interval for unreadable sources, ms. */
const RETRY_MS = 300_000;

interface SharedSourcesDeps {
  hostId: string;
  hypervisor: Pick<Hypervisor, 'contentOf'>;
  store: { hosts: Pick<Store['hosts'], 'list'> };
  logger: Logger;
}

/**
 * Hashes a source of this host once another host has one of its name: until all digests are known, only one of the
 * hosts gets sandboxes of it. A single host never pays for that.
 */
export class SharedSources {
  /** Time of the next retry of an unreadable source (performance.now). */
  readonly #notBefore = new Map<string, number>();

  constructor(private readonly deps: SharedSourcesDeps) {}

  /** @param own this host's sources. Resolves when all necessary reads were tried */
  async read(own: readonly SourceInfo[], signal: AbortSignal): Promise<void> {
    const unknown = own.filter(({ name, cloneable, content }) => cloneable && !content && this.#isDue(name));
    if (unknown.length === 0) return;
    const others = (await this.deps.store.hosts.list()).filter((host) => host.id !== this.deps.hostId && isLive(host));
    const names = new Set(others.flatMap(({ sources }) => sources.map(({ name }) => name)));
    for (const { name } of unknown.filter((source) => names.has(source.name))) {
      if (signal.aborted) return;
      await this.#read(name, signal);
    }
  }

  async #read(name: string, signal: AbortSignal): Promise<void> {
    this.#notBefore.set(name, performance.now() + RETRY_MS);
    try {
      const content = await this.deps.hypervisor.contentOf(name, { signal, alive: () => {} });
      if (content !== null) this.#notBefore.delete(name);
    } catch (error) {
      if (!signal.aborted) this.deps.logger.warn({ err: error, source: name }, 'what a source holds cannot be read');
    }
  }

  #isDue(name: string): boolean {
    return performance.now() >= (this.#notBefore.get(name) ?? 0);
  }
}
