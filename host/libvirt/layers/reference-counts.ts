/**
 * Who is about to use what: counted, as long as it takes. All of it is done by this one process, so it need not be
 * written down.
 */
export class ReferenceCounts {
  readonly #users = new Map<string, number>();

  has(name: string): boolean {
    return this.#users.has(name);
  }

  acquire(name: string): void {
    this.#users.set(name, (this.#users.get(name) ?? 0) + 1);
  }

  release(name: string): void {
    const left = (this.#users.get(name) ?? 0) - 1;
    if (left > 0) this.#users.set(name, left);
    else this.#users.delete(name);
  }
}
