// @ts-check
/**
 * Counts what vitest's JSON report says, so that nothing that did not run is taken for passed.
 *
 * @module
 */
import { readFileSync } from 'node:fs';

/**
 * @typedef {object} Tally
 * @property {number} passed
 * @property {number} failed
 * @property {string[]} reasons Failures that vitest's own summary does not show as failed tests.
 */

/**
 * @typedef {object} Report The part of vitest's JSON report that is read here.
 * @property {{ name: string, status: string, message: string, assertionResults: { status: string, fullName: string }[] }[]} testResults
 */

/**
 * @param {string} path The report, which is not there when vitest died before its end.
 * @param {{ exitCode: number | null, filtered: boolean }} run `filtered`: tests were chosen by name, others are meant to be skipped.
 * @returns {Tally}
 */
export function tallyOf(path, { exitCode, filtered }) {
  /** @type {Report} */
  let report;
  try {
    report = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return {
      passed: 0,
      failed: 1,
      reasons: [`vitest ended (exit code ${exitCode}) without a report: ${/** @type {Error} */ (error).message}`],
    };
  }

  /** @type {Tally} */
  const tally = { passed: 0, failed: 0, reasons: [] };
  /** @type {(reason: string) => void} */
  const fail = (reason) => {
    tally.failed += 1;
    tally.reasons.push(reason);
  };
  for (const file of report.testResults) {
    const results = file.assertionResults;
    for (const { status, fullName } of results) {
      if (status === 'passed') tally.passed += 1;
      else if (status === 'failed') tally.failed += 1;
      else if (!filtered) fail(`not run (${status}): ${fullName}`);
    }
    // A file that cannot be loaded, or whose hooks fail, has no failed test to show for it.
    if (file.status === 'failed' && !results.some(({ status }) => status === 'failed'))
      fail(`${file.name}: ${file.message}`);
  }
  if (tally.passed + tally.failed === 0) fail('no test ran');
  if (exitCode !== 0 && tally.failed === 0)
    fail(`vitest ended with exit code ${exitCode} although no test failed: see its output above`);
  return tally;
}
