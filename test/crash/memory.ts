import type { Part } from './part.ts';

/** Limit of a process's memory growth: median of the last third over that of the second; above it is not garbage. */
export const MOST_GROWTH = 1.35;
/** Fewest samples that show a trend. */
const LEAST_LOOKS = 9;

/** Samples of each process's memory, also across its restarts. */
export class Memory {
  readonly #looks = new Map<string, number[]>();

  constructor(private readonly parts: readonly Part[]) {}

  look(): void {
    for (const part of this.parts) {
      const mib = part.residentMib;
      if (mib !== null) this.#looks.set(part.name, [...(this.#looks.get(part.name) ?? []), mib]);
    }
  }

  lines(): string[] {
    return [...this.#looks].map(([name, looks]) => {
      const growth = growthOf(looks);
      const ratio = growth === null ? 'too few looks' : `× ${growth.toFixed(2)}`;
      return `memory of ${name}: ${middle(looks).toFixed(0)} MiB, most ${Math.max(...looks).toFixed(0)} MiB, ${ratio} (at most × ${MOST_GROWTH})`;
    });
  }

  faults(): string[] {
    return [...this.#looks].flatMap(([name, looks]) => {
      const growth = growthOf(looks);
      return growth === null || growth <= MOST_GROWTH
        ? []
        : [`${name} has grown × ${growth.toFixed(2)}, at most × ${MOST_GROWTH}`];
    });
  }
}

function growthOf(looks: readonly number[]): number | null {
  if (looks.length < LEAST_LOOKS) return null;
  const third = Math.floor(looks.length / 3);
  return middle(looks.slice(-third)) / middle(looks.slice(third, 2 * third));
}

function middle(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}
