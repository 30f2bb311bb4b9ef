/** Runs items one after another. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** @throws what the item throws, which those after it do not see */
  async run<T>(item: () => Promise<T>): Promise<T> {
    const running = this.#last.then(item);
    this.#last = running.catch(() => undefined);
    return await running;
  }

  /** Resolves when all items have ended that came before now. */
  async drain(): Promise<void> {
    await this.#last;
  }
}
