import { createHash } from 'node:crypto';
import { type TestAPI, type TestContext, type TestOptions, test } from 'vitest';

/** Which cases of a sweep a run tries: two, all, or all but those two. */
export type Tier = 'quick' | 'all' | 'rest';

/** Cases of one promise at many points (two or more). `npm test` runs the first and one drawn by the seed, `npm run test:all` each;
 * scripts/test.mjs sets `MAYFLY_TEST_TIER` and `MAYFLY_TEST_SEED`. Time-out or options come last. */
export const sweep = sweepOn(test);

type SweepTest<Fixtures> = Pick<TestAPI<Fixtures>, 'for'> & { skip: Pick<TestAPI<Fixtures>, 'for'> };

/** {@link sweep} for a test with fixtures of its own, which come after the point. */
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

/** Each of some with each of others, as the points of a sweep. */
export function pairsOf<A, B>(some: readonly A[], others: readonly B[]): (readonly [A, B])[] {
  return some.flatMap((one) => others.map((other) => [one, other] as const));
}

/** @param count of the sweep's points @returns whether the n-th of them, from 0, is run in this tier */
export function chosenBy(seed: string, title: string, count: number, tier: Tier): (nth: number) => boolean {
  if (count < 2) throw new Error(`a sweep has at least two points: ${title}`);
  const drawn = createHash('sha256').update(`${seed}/${title}`).digest().readUInt32BE() % (count - 1);
  const isQuick = (nth: number) => nth === 0 || nth === 1 + drawn;
  return (nth) => tier === 'all' || isQuick(nth) === (tier === 'quick');
}

/** The seed of this run: what is random in a test is drawn from it, so that a failure can be had again. */
export function seed(): string {
  return process.env['MAYFLY_TEST_SEED'] ?? 'mayfly';
}

/** The run's seed as a number of 31 bits, for generators of random cases: another one for each use that is named. */
export function seedOf(use: string): number {
  return createHash('sha256').update(`${seed()}/${use}`).digest().readUInt32BE() >>> 1;
}

/** Which tier runs. Without a runner: `quick`. */
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
