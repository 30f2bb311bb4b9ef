// @ts-check
/** @module The end of a test run's output. */

/** Lines of an error that are shown. */
const SHOWN_LINES = 10;

/**
 * @param {import('./tally.mjs').Tally} tally
 * @param {NodeJS.ProcessEnv} again Environment for repeating a test.
 * @returns {string[]}
 */
export function reportLines({ passed, failures, unsteady, files }, again) {
  const withLeft = [...files.values()].filter(({ left }) => left > 0);
  const left = withLeft.reduce((sum, one) => sum + one.left, 0);
  return [
    ...unsteady.flatMap((failure) => ['', 'UNSTEADY, passed in a second run:', ...failureLines(failure, again)]),
    ...failures.flatMap((failure) => ['', ...failureLines(failure, again)]),
    ...(left > 0 ? [`left out in ${withLeft.length} files: ${left} tests; \`npm run test:all\` runs them`] : []),
    `${passed} passed, ${failures.length} failed`,
  ];
}

/**
 * @param {import('./tally.mjs').Failure} failure
 * @param {NodeJS.ProcessEnv} again
 */
function failureLines({ file, title, error }, again) {
  const lines = error.split('\n').slice(0, SHOWN_LINES);
  if (file === '') return [`FAILED: ${lines[0]}`, ...lines.slice(1).map((line) => `    ${line}`)];
  const settings = Object.entries(again).map(([name, value]) => `${name}=${value} `);
  // vitest treats the title as a pattern and joins its parts with a blank
  const pattern = title.replaceAll(' > ', ' ').replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const only = title === '' ? '' : ` -t '${pattern.replaceAll("'", `'\\''`)}'`;
  return [
    `FAILED: ${file}${title === '' ? '' : `: ${title}`}`,
    ...lines.map((line) => `    ${line}`),
    `    alone: ${settings.join('')}npm test -- ${file}${only}`,
  ];
}
