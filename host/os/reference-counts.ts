/** Counts the users of each name, in memory: all of them belong to this process. */
export class ReferenceCounts {
  readonly #users = new Map<string, number>();

  has = (name: string) => this.#users.has(name);
  count = (name: string) => this.#users.get(name) ?? 0;

  acquire(name: string): void {
    this.#users.set(name, this.count(name) + 1);
  }

  release(name: string): void {
    const left = this.count(name) - 1;
    if (left > 0) this.#users.set(name, left);
    else this.#users.delete(name);
  }
}
