import { createHash } from 'node:crypto';
import { type TestAPI, type TestContext, type TestOptions, test } from 'vitest';

/** Cases of a sweep in a run: two, all, or all but those two. */
export type Tier = 'quick' | 'all' | 'rest';

/**
 * Runs cases of one test at several points (two or more). `npm test` runs the first and one drawn by the seed, `npm run
 * test:all` each;
 * scripts/test.mjs sets `MAYFLY_TEST_TIER` and `MAYFLY_TEST_SEED`. Time-out or options come last.
 */
export const sweep = sweepOn(test);

type SweepTest<Fixtures> = Pick<TestAPI<Fixtures>, 'for'> & { skip: Pick<TestAPI<Fixtures>, 'for'> };

/** Creates a {@link sweep} for a test with fixtures, which follow the point. */
export function sweepOn<Fixtures extends object>(on: SweepTest<Fixtures>) {
  return <T>(points: readonly T[]) => {
    type Run = (point: T, context: TestContext & Fixtures) => Promise<void>;
    return (title: string, run: Run, given: number | TestOptions = {}): void => {
      const chosen = chosenBy(seed(), title, points.length, tier());
      const { tags = [], ...rest } = typeof given === 'number' ? { timeout: given } : given;
      const options: TestOptions = { ...rest, tags: ['sweep', ...[tags].flat()] };
      for (const [nth, point] of points.entries())
        (chosen(nth) ? on : on.skip).for([point])(titleOf(title, point), options, run);
    };
  };
}

/** Returns all pairs of two lists, as points of a sweep. */
export function pairsOf<A, B>(some: readonly A[], others: readonly B[]): (readonly [A, B])[] {
  return some.flatMap((one) => others.map((other) => [one, other] as const));
}

/** Chooses the points of a tier. @param count number of points @returns whether the n-th, from 0, runs */
export function chosenBy(seed: string, title: string, count: number, tier: Tier): (nth: number) => boolean {
  if (count < 2) throw new Error(`a sweep has at least two points: ${title}`);
  const drawn = createHash('sha256').update(`${seed}/${title}`).digest().readUInt32BE() % (count - 1);
  const isQuick = (nth: number) => nth === 0 || nth === 1 + drawn;
  return (nth) => tier === 'all' || isQuick(nth) === (tier === 'quick');
}

/** Returns the seed of this run: all randomness derives from it, so that a failure is reproducible. */
export function seed(): string {
  return process.env['MAYFLY_TEST_SEED'] ?? 'mayfly';
}

/** Returns the run's seed as a 31-bit number for a random generator; differs for each named use. */
export function seedOf(use: string): number {
  return createHash('sha256').update(`${seed()}/${use}`).digest().readUInt32BE() >>> 1;
}

/** Returns the tier to run. `@default` `quick` */
export function tier(): Tier {
  const given = process.env['MAYFLY_TEST_TIER'] ?? 'quick';
  if (given !== 'quick' && given !== 'all' && given !== 'rest')
    throw new Error(`MAYFLY_TEST_TIER is quick, all or rest, not ${given}`);
  return given;
}

function titleOf(title: string, point: unknown): string {
  const parts = (Array.isArray(point) ? point : [point]).map((part) =>
    typeof part === 'object' ? JSON.stringify(part) : String(part),
  );
  return title.replace(/%s/g, () => parts.shift() ?? '');
}
