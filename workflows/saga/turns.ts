/** Runs what it is given one after another. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** @throws what `work` throws, which those after it do not see */
  async take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return await turn;
  }

  /** Resolves when all has ended that came before now. */
  async done(): Promise<void> {
    await this.#last;
  }
}
