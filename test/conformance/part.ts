import type { Materials } from './materials.ts';

/** Result of one part: number of checks, and undeclared differences. */
export class Tally {
  tried = 0;
  readonly differences: string[] = [];
  readonly #declared: ReadonlyMap<string, string>;
  readonly #seen = new Set<string>();

  /** @param declared intended differences: name to reason */
  constructor(declared: Readonly<Record<string, string>> = {}) {
    this.#declared = new Map(Object.entries(declared));
  }

  /** Counts one check. @param isSame false for a difference */
  count(name: string, isSame: boolean, said = ''): void {
    this.tried++;
    if (isSame) return;
    if (this.#declared.has(name)) this.#seen.add(name);
    else this.differences.push(said === '' ? name : `${name}: ${said}`);
  }

  get declared(): readonly string[] {
    return [...this.#seen].map((name) => `${name}: ${this.#declared.get(name)}`);
  }

  /** Returns declared differences that did not occur. */
  get outdated(): readonly string[] {
    return [...this.#declared.keys()].filter((name) => !this.#seen.has(name));
  }
}

export type Part = (materials: Materials) => Promise<Tally>;
