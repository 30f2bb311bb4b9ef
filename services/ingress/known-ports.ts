import type { ApiKey } from '../../model/access/api-key.ts';
import type { ExposedPort } from '../../model/ports/exposed-port.ts';
import { labelOf, type PortTarget } from '../../model/ports/port-address.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import { TtlCache } from '../ttl-cache.ts';

/** A port that is open, and its sandbox, which lives. */
export interface KnownPort {
  port: ExposedPort;
  sandbox: SandboxRecord;
}

/** What is open, and who lets others in, as it was a moment ago. */
export class KnownPorts {
  readonly #ports = new TtlCache<KnownPort | null>();
  readonly #keys = new TtlCache<ApiKey | null>();

  constructor(private readonly store: Pick<Store, 'exposedPorts' | 'sandboxes' | 'apiKeys'>) {}

  /** Whether it was open when it was asked for last. */
  remembers(target: PortTarget): boolean {
    return this.#ports.has(labelOf(target));
  }

  /** Null: it is not open, or its sandbox has ended. */
  of(target: PortTarget): Promise<KnownPort | null> {
    return this.#ports.get(labelOf(target), () => this.readNow(target));
  }

  /** As {@link of}, as it is now. */
  async readNow(target: PortTarget): Promise<KnownPort | null> {
    const [port, sandbox] = await Promise.all([
      this.store.exposedPorts.get(target),
      this.store.sandboxes.get(target.sandboxId),
    ]);
    if (!port || !sandbox || port.project !== sandbox.project) return null;
    return isFinal(sandbox.state) || sandbox.state === 'destroying' ? null : { port, sandbox };
  }

  /** The key for which a token was made; null when it was revoked. */
  keyOf(apiKeyId: string): Promise<ApiKey | null> {
    return this.#keys.get(apiKeyId, async () => {
      const key = await this.store.apiKeys.get(apiKeyId);
      return key?.revokedAt === null ? key : null;
    });
  }
}
