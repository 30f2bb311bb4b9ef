/**
 * Runs what it is given one after another.
 *
 * What several parts of one workflow ask of local activities goes through here: those that run at once are resolved as they
 * end, and in a replay as they began, so that the commands after them change places (temporalio/sdk-python#1578).
 */
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
