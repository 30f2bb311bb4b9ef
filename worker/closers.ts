/** What was opened, to be closed newest first. */
export class Closers {
  readonly #open: { name: string; close: () => Promise<void> }[] = [];
  readonly #closing = new Set<string>();

  /** @param whenClosing is called each time that closing begins */
  constructor(private readonly whenClosing: () => void = () => {}) {}

  add(name: string, close: () => Promise<void>): void {
    this.#open.push({ name, close });
  }

  /** What is not closed yet: first what is being closed. */
  get names(): string[] {
    return [...this.#closing, ...this.#open.map(({ name }) => name).reverse()];
  }

  /** Closes everything, also when one of them fails. @throws AggregateError of all that failed */
  async close(): Promise<void> {
    this.whenClosing();
    const failures: unknown[] = [];
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop()) {
      const { name, close } = next;
      this.#closing.add(name);
      try {
        await close();
      } catch (cause) {
        failures.push(new Error(`${name} could not be closed`, { cause }));
      } finally {
        this.#closing.delete(name);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not everything could be closed');
  }
}
