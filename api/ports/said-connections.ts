/** How long one entry of the audit speaks for all connections of one key to one port. Milliseconds. */
const SPEAKS_MS = 60_000;
/** The longest unused are forgotten first, and said again. */
const REMEMBERED = 10_000;

/** What the audit has been told of connections: a browser opens many a second, and each is the same access. */
export class SaidConnections {
  readonly #saidAt = new Map<string, number>();

  /** @param say tells the audit; when it fails, the next connection tries again */
  async once(access: { apiKeyId: string; sandboxId: string; port: number }, say: () => Promise<void>): Promise<void> {
    const key = `${access.apiKeyId} ${access.sandboxId} ${access.port}`;
    const now = performance.now();
    const saidAt = this.#saidAt.get(key);
    if (saidAt !== undefined && now - saidAt < SPEAKS_MS) return;
    await say();
    this.#saidAt.delete(key);
    this.#saidAt.set(key, now);
    const [oldest] = this.#saidAt.keys();
    if (this.#saidAt.size > REMEMBERED && oldest !== undefined) this.#saidAt.delete(oldest);
  }
}
