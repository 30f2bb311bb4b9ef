/** Chains whose end is remembered; the longest unused are forgotten first. */
const REMEMBERED = 10_000;

export interface ChainEnd {
  count: number;
  hash: string;
  /** Of the last entry, see EntryDocument. */
  recent: string[];
}

/** Where chains ended when this process last wrote to them: saves two reads an append. */
export class ChainEnds {
  readonly #ends = new Map<string, ChainEnd>();

  /**
   * Taken out before it is used, so that a failed append reads anew; another writer's entry is met at the insert.
   */
  take(sandboxId: string): ChainEnd | undefined {
    const end = this.#ends.get(sandboxId);
    this.#ends.delete(sandboxId);
    return end;
  }

  keep(sandboxId: string, end: ChainEnd): void {
    this.#ends.set(sandboxId, end);
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > REMEMBERED && oldest) this.#ends.delete(oldest);
  }
}
