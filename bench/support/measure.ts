/** Milliseconds of several runs of the same thing. */
export interface Spread {
  runs: number;
  medianMs: number;
  p95Ms: number;
  maxMs: number;
}

/** Two rows with the same work: Mayfly, and the layer below it. */
export interface Pair {
  what: string;
  /** Name of the row. */
  ours: string;
  beside: string;
  /** Bound of the ratio of the medians, or of their difference. */
  most?: { times: number } | { moreMs: number };
}

/** Result of a part of the bench. */
export interface Figures {
  spreads: Record<string, Spread>;
  pairs?: Pair[];
  /** Figures other than times. */
  lines?: string[];
}

/** @throws RangeError when nothing was measured: a figure is never invented */
export function spreadOf(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
  const [median, p95, max] = [at(0.5), at(0.95), sorted.at(-1)];
  if (median === undefined || p95 === undefined || max === undefined) throw new RangeError('nothing was measured');
  return { runs: sorted.length, medianMs: round(median), p95Ms: round(p95), maxMs: round(max) };
}

export function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}

/** Samples by name, in order of their first use. */
export class Samples {
  readonly #byName = new Map<string, number[]>();

  add(name: string, ms: number): void {
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), ms]);
  }

  /** Times an action. */
  async time<T>(name: string, run: () => Promise<T>): Promise<T> {
    const began = performance.now();
    const result = await run();
    this.add(name, performance.now() - began);
    return result;
  }

  /** Times rounds that alternate the compared actions; warm-up rounds are not counted. */
  async rounds({ runs, warmUp }: Rounds, round: (samples: Samples) => Promise<unknown>): Promise<void> {
    for (let run = -warmUp; run < runs; run++) await round(run < 0 ? new Samples() : this);
  }

  spreads(): Record<string, Spread> {
    return Object.fromEntries([...this.#byName].map(([name, samples]) => [name, spreadOf(samples)]));
  }
}

interface Rounds {
  runs: number;
  warmUp: number;
}
