/** Budget of the bytes of unanswered bodies, for each name. */
export class ByteBudget {
  readonly #held = new Map<string, number>();

  /** @param most of one name */
  constructor(private readonly most: number) {}

  /** Returns false when they would exceed the budget. */
  take(name: string, bytes: number): boolean {
    const held = (this.#held.get(name) ?? 0) + bytes;
    if (held > this.most) return false;
    this.#held.set(name, held);
    return true;
  }

  release(name: string, bytes: number): void {
    const left = (this.#held.get(name) ?? 0) - bytes;
    if (left > 0) this.#held.set(name, left);
    else this.#held.delete(name);
  }
}
