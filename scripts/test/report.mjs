// @ts-check
/** @module What a test run says at its end. */
import { writeFileSync } from 'node:fs';

/** How many of the slowest tests are named. */
const shownTests = 10;

/** @param {import('./tally.mjs').Tally} tally */
export function* reportLines(tally) {
  keepTimes(tally.seconds);
  yield 'slowest:';
  for (const { name, seconds } of tally.ran.toSorted((a, b) => b.seconds - a.seconds).slice(0, shownTests))
    yield `${seconds.toFixed(1).padStart(7)} s  ${name}`;
  for (const reason of tally.reasons) yield `FAILED: ${reason}`;
  const files = [...tally.left];
  if (files.length > 0) {
    const count = files.reduce((sum, [, left]) => sum + left, 0);
    yield `left out: ${count} tests and points of sweeps, in ${files.length} files; \`npm run test:all\` runs them`;
    for (const [file, left] of files.toSorted(([, a], [, b]) => b - a)) yield `    ${left} of ${file}`;
  }
  yield `${tally.passed} passed, ${tally.failed} failed`;
}

/**
 * For scripts/test/times.json, by which files are put into batches.
 * @param {Map<string, number>} seconds
 */
function keepTimes(seconds) {
  const path = process.env['MAYFLY_TEST_TIMES'];
  if (!path) return;
  const times = [...seconds]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([file, s]) => [file, Math.round(s * 10) / 10]);
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(times), null, 2)}\n`);
}
