/** How long one entry of the audit speaks for all connections of one key to one port. Milliseconds. */
const SPEAKS_MS = 60_000;
/** The longest unused are forgotten first, and said again. */
const REMEMBERED = 10_000;

/** What the audit has been told of connections: a browser opens many a second, and each is the same access. */
export class SaidConnections {
  readonly #said = new Map<string, { at: number; told: Promise<void> }>();

  /**
   * Of many at once one tells, and all wait for that.
   * @param access.by the key, or the token, that is used
   * @param say tells the audit; when it fails, the next connection tries again
   */
  async once(access: { by: string; sandboxId: string; port: number }, say: () => Promise<void>): Promise<void> {
    const key = `${access.by} ${access.sandboxId} ${access.port}`;
    const now = performance.now();
    const before = this.#said.get(key);
    if (before && now - before.at < SPEAKS_MS) return before.told;
    const told = say();
    this.#said.delete(key);
    this.#said.set(key, { at: now, told });
    const [oldest] = this.#said.keys();
    if (this.#said.size > REMEMBERED && oldest !== undefined) this.#said.delete(oldest);
    try {
      await told;
    } catch (error) {
      if (this.#said.get(key)?.told === told) this.#said.delete(key);
      throw error;
    }
  }
}
