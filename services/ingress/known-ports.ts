import type { ApiKey } from '../../model/access/api-key.ts';
import type { ExposedPort } from '../../model/ports/exposed-port.ts';
import { formatPortLabel, type PortTarget } from '../../model/ports/port-address.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import { TtlCache } from '../ttl-cache.ts';

/** Open port and its live sandbox. */
export interface OpenPort {
  port: ExposedPort;
  sandbox: SandboxRecord;
}

/** Cache of open ports, and of the keys behind their tokens. */
export class PortCache {
  readonly #ports = new TtlCache<OpenPort | null>();
  readonly #keys = new TtlCache<ApiKey | null>();

  constructor(private readonly store: Pick<Store, 'exposedPorts' | 'sandboxes' | 'apiKeys'>) {}

  /** Reports whether the port is in the cache. */
  remembers(target: PortTarget): boolean {
    return this.#ports.has(formatPortLabel(target));
  }

  /** Returns an open port; null when it is closed or its sandbox has ended. */
  of(target: PortTarget): Promise<OpenPort | null> {
    return this.#ports.get(formatPortLabel(target), () => this.readNow(target));
  }

  /** Reads a port from the store, past the cache. */
  async readNow(target: PortTarget): Promise<OpenPort | null> {
    const [port, sandbox] = await Promise.all([
      this.store.exposedPorts.get(target),
      this.store.sandboxes.get(target.sandboxId),
    ]);
    if (!port || !sandbox || port.project !== sandbox.project) return null;
    return isFinal(sandbox.state) || sandbox.state === 'destroying' ? null : { port, sandbox };
  }

  /** Returns the key for which a token was issued; null when it was revoked. */
  keyOf(apiKeyId: string): Promise<ApiKey | null> {
    return this.#keys.get(apiKeyId, async () => {
      const key = await this.store.apiKeys.get(apiKeyId);
      return key?.revokedAt === null ? key : null;
    });
  }
}
