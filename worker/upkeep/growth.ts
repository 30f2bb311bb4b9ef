/** Growth of an idle guest, which still writes its logs, bytes. */
const IDLE_BYTES = 1_048_576;

/** Tracks which sandboxes grow during a space shortage: the others need no suspension. */
export class GrowthTracker {
  /** Minimum size since the shortage began, bytes, by resource and sandbox. */
  readonly #before = new Map<string, Map<string, number>>();

  /** Returns the sandboxes that have grown since the shortage was first reported. */
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

  /** Ends the shortage. */
  over(what: string): void {
    this.#before.delete(what);
  }
}
