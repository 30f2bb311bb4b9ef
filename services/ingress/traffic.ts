import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { formatPortLabel, type PortTarget } from '../../model/ports/port-address.ts';
import type { OpenPort, PortCache } from './known-ports.ts';
import { TokenBuckets } from './token-buckets.ts';

/** Interval between two checks of open connections, ms: each must end within a second of its revocation. */
const CHECK_MS = 400;

/** Request, or upgraded connection. */
interface OpenConnection {
  target: PortTarget;
  /**
   * Credential: the key, or the secret of the port and the key that issued the token. The connection ends with either.
   * Null for none.
   */
  token: { secret: string | null; apiKeyId: string } | null;
  /** Ms since 1970; null: never. */
  expiresAt: number | null;
  end(why: Error): void;
}

/** Connections to ports of all sandboxes through this process: rate and lifetime. */
export class Traffic {
  readonly #passing = new Map<string, Set<OpenConnection>>();
  readonly #requests = new TokenBuckets(LIMITS.ports.requestsPerSecond);
  #look: NodeJS.Timeout | null = null;

  constructor(private readonly known: PortCache) {}

  /** @throws MayflyError too_many_requests */
  count(target: PortTarget): void {
    const name = formatPortLabel(target);
    if (!this.#requests.take(name)) {
      const why = `More than ${LIMITS.ports.requestsPerSecond} requests a second are sent to ${name}.`;
      throw new MayflyError('too_many_requests', why, { retryAfterSeconds: 1 });
    }
    this.#begin();
  }

  /** Ends the connection when its credential is void. @returns a function to call when it has ended */
  add(passing: OpenConnection): () => void {
    const name = formatPortLabel(passing.target);
    const others = this.#passing.get(name) ?? new Set();
    this.#passing.set(name, others.add(passing));
    this.#begin();
    return () => {
      others.delete(passing);
      if (others.size === 0 && this.#passing.get(name) === others) this.#passing.delete(name);
    };
  }

  /** Ends all connections. */
  close(): void {
    if (this.#look) clearInterval(this.#look);
    this.#look = null;
    for (const passing of [...this.#passing.values()].flatMap((all) => [...all])) {
      passing.end(new Error('the process stops'));
    }
  }

  #begin(): void {
    this.#look ??= setInterval(() => this.#checkAll(), CHECK_MS).unref();
  }

  #checkAll(): void {
    this.#requests.forgetFull();
    for (const all of this.#passing.values()) void this.#checkConnections(all);
    if (this.#passing.size > 0 || this.#requests.size > 0 || !this.#look) return;
    clearInterval(this.#look);
    this.#look = null;
  }

  async #isGood({ secret, apiKeyId }: NonNullable<OpenConnection['token']>, { port }: OpenPort): Promise<boolean> {
    if (secret !== null && secret !== port.secret) return false;
    return this.known.keyOf(apiKeyId).then(
      (key) => key !== null,
      () => true,
    );
  }

  async #checkConnections(all: ReadonlySet<OpenConnection>): Promise<void> {
    const [first] = all;
    if (!first) return;
    for (const passing of all) {
      if (passing.expiresAt !== null && passing.expiresAt <= Date.now())
        passing.end(new Error('the token has expired'));
    }
    // Without the store open connections continue; new ones are refused.
    const known = await this.known.readNow(first.target).catch(() => undefined);
    if (known === undefined) return;
    for (const passing of all) {
      const { token } = passing;
      if (!known) passing.end(new Error('the port was closed'));
      else if (token && !(await this.#isGood(token, known)))
        passing.end(new Error('the token is void, or its key revoked'));
    }
  }
}
