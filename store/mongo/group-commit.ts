/** Maximum size of a group, so that it is one message, and one transaction of the embedded store. */
const GROUP = 100;

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Groups items that arrive during a write into the next one: no item waits for others, and many concurrent items cost
 * few writes. A failed write fails each item of its group. For reads, no result is older than its request.
 */
export class GroupCommit<Item, Result> {
  readonly #write: (items: Item[]) => Promise<readonly Result[]>;
  #waiting: Waiting<Item, Result>[] = [];
  #isWriting = false;

  /** @param write returns a result for each item, in their order */
  constructor(write: (items: Item[]) => Promise<readonly Result[]>) {
    this.#write = write;
  }

  /** Resolves when the item is written. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) await this.#writeGroup(this.#waiting.splice(0, GROUP));
    this.#isWriting = false;
  }

  async #writeGroup(group: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#write(group.map(({ item }) => item));
      for (const [n, { resolve }] of group.entries()) resolve(results[n] as Result);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
