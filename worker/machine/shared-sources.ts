import type { Logger } from 'pino';
import type { Hypervisor } from '../../host/hypervisor.ts';
import { isLive, type SourceInfo } from '../../model/host.ts';
import type { Store } from '../../store/connect.ts';

/** What could not be read is tried again after this. Milliseconds. */
const AGAIN_MS = 300_000;

interface SharedSourcesDeps {
  hostId: string;
  hypervisor: Pick<Hypervisor, 'contentOf'>;
  store: { hosts: Pick<Store['hosts'], 'list'> };
  logger: Logger;
}

/**
 * Reads what a source of this host holds as soon as another host has one of its name: until all of them are known, only one
 * of the hosts is given sandboxes of it. Who has one host never pays for that.
 */
export class SharedSources {
  /** When what could not be read may be tried again (performance.now). */
  readonly #notBefore = new Map<string, number>();

  constructor(private readonly deps: SharedSourcesDeps) {}

  /** @param own as this host lists them. Resolves when all that must be read was tried */
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
    this.#notBefore.set(name, performance.now() + AGAIN_MS);
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
