/** What was opened, to be closed newest first. */
export class Closers {
  private readonly open: { name: string; close: () => Promise<void> }[] = [];

  add(name: string, close: () => Promise<void>): void {
    this.open.push({ name, close });
  }

  /** Closes everything, also when one of them fails. @throws AggregateError of all that failed */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const { name, close } of this.open.splice(0).reverse()) {
      try {
        await close();
      } catch (cause) {
        failures.push(new Error(`${name} could not be closed`, { cause }));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not everything could be closed');
  }
}
