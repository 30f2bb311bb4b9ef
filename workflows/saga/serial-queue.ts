/** Queue that runs items one at a time. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** @throws the item's error, which does not affect later items */
  async run<T>(item: () => Promise<T>): Promise<T> {
    const running = this.#last.then(item);
    this.#last = running.catch(() => undefined);
    return await running;
  }

  /** Resolves when all earlier items have ended. */
  async drain(): Promise<void> {
    await this.#last;
  }
}
