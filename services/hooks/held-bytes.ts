/** Bytes of bodies that are held at once, for each name, from when they come until they are answered. */
export class HeldBytes {
  readonly #held = new Map<string, number>();

  /** @param most of one name */
  constructor(private readonly most: number) {}

  /** False: that would be too many. */
  take(name: string, bytes: number): boolean {
    const held = (this.#held.get(name) ?? 0) + bytes;
    if (held > this.most) return false;
    this.#held.set(name, held);
    return true;
  }

  giveBack(name: string, bytes: number): void {
    const left = (this.#held.get(name) ?? 0) - bytes;
    if (left > 0) this.#held.set(name, left);
    else this.#held.delete(name);
  }
}
