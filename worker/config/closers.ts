interface Opened {
  name: string;
  close: () => Promise<void>;
  begin: () => void;
}

/** Opened resources, closed newest first. */
export class Closers {
  readonly #open: Opened[] = [];
  #closing: Opened[] = [];

  /**
   * @param whenClosing is called each time that closing begins
   * @param whenClosed is called each time that nothing is open
   */
  constructor(
    private readonly whenClosing: () => void = () => {},
    private readonly whenClosed: () => void = () => {},
  ) {}

  /** @param begin starts the close as soon as the first resource closes, so that it takes no time of its own */
  add(name: string, close: () => Promise<void>, begin: () => void = () => {}): void {
    this.#open.push({ name, close, begin });
  }

  /** Resources that are not closed yet, in closing order. */
  get names(): string[] {
    return [...this.#closing, ...this.#open.toReversed()].map(({ name }) => name);
  }

  /** Closes everything, also when one of them fails. @throws AggregateError of all failures */
  async close(): Promise<void> {
    this.whenClosing();
    const closing = this.#open.splice(0).reverse();
    this.#closing = [...this.#closing, ...closing];
    const failures: unknown[] = [];
    for (const { begin } of closing) begin();
    for (const opened of closing) {
      try {
        await opened.close();
      } catch (cause) {
        failures.push(new Error(`${opened.name} could not be closed`, { cause }));
      }
      this.#closing = this.#closing.filter((other) => other !== opened);
    }
    if (this.#closing.length === 0) this.whenClosed();
    if (failures.length > 0) throw new AggregateError(failures, 'not everything could be closed');
  }
}
