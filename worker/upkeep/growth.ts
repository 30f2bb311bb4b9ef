/** A guest that does nothing still writes its logs. Bytes. */
const IDLE_BYTES = 1_048_576;

/** Who grows while there is no room: those who do not need no stopping. */
export class Growth {
  /** By what has no room, then by sandbox: the least that it has taken since then, bytes. */
  readonly #before = new Map<string, Map<string, number>>();

  /** Those that have grown since it was first said that there is no room. */
  during(what: string, sizes: ReadonlyMap<string, number>): string[] {
    const before = this.#before.get(what) ?? new Map<string, number>();
    this.#before.set(what, before);
    for (const id of before.keys()) if (!sizes.has(id)) before.delete(id);
    return [...sizes].flatMap(([id, bytes]) => {
      const least = Math.min(before.get(id) ?? bytes, bytes);
      before.set(id, least);
      return bytes > least + IDLE_BYTES ? [id] : [];
    });
  }

  /** There is room. */
  over(what: string): void {
    this.#before.delete(what);
  }
}
