import { createHash } from 'node:crypto';

/** Random numbers, determined by a seed and a name. */
export class SeededRandom {
  #nth = 0;

  constructor(
    readonly seed: string,
    private readonly use: string,
  ) {}

  /** Returns an integer from 0 to below `end`. */
  below(end: number): number {
    const digest = createHash('sha256')
      .update(`${this.seed}/${this.use}/${this.#nth++}`)
      .digest();
    return Math.floor((digest.readUIntBE(0, 6) / 2 ** 48) * end);
  }

  /** Returns the items shuffled (Fisher and Yates). */
  shuffled<T>(items: readonly T[]): T[] {
    const result = [...items];
    for (let n = result.length - 1; n > 0; n--) {
      const other = this.below(n + 1);
      [result[n], result[other]] = [result[other] as T, result[n] as T];
    }
    return result;
  }
}
