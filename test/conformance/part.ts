import type { Materials } from './materials.ts';

/** What was tried of one part: how often, and each difference that nobody declared. */
export class Tally {
  tried = 0;
  readonly differences: string[] = [];
  readonly #declared: ReadonlyMap<string, string>;
  readonly #seen = new Set<string>();

  /** @param declared differences that are meant, by name, and why */
  constructor(declared: Readonly<Record<string, string>> = {}) {
    this.#declared = new Map(Object.entries(declared));
  }

  /** One thing that was tried. @param isSame what we do is what is asked for */
  count(name: string, isSame: boolean, said = ''): void {
    this.tried++;
    if (isSame) return;
    if (this.#declared.has(name)) this.#seen.add(name);
    else this.differences.push(said === '' ? name : `${name}: ${said}`);
  }

  get declared(): readonly string[] {
    return [...this.#seen].map((name) => `${name}: ${this.#declared.get(name)}`);
  }

  /** Declared, and not there any more. */
  get outdated(): readonly string[] {
    return [...this.#declared.keys()].filter((name) => !this.#seen.has(name));
  }
}

export type Part = (materials: Materials) => Promise<Tally>;
