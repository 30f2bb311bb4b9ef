/** Cursor over the lines of a text. */
export class Lines {
  /** Number of the last line read, from 1. */
  number = 0;

  constructor(private readonly all: readonly string[]) {}

  next(): string | null {
    const line = this.all[this.number];
    if (line === undefined) return null;
    this.number += 1;
    return line;
  }

  back(): void {
    this.number -= 1;
  }
}
