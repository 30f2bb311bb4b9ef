// @ts-check
/**
 * Counts the results of test files; a test that did not run never counts as passed.
 *
 * @module
 */

/** @typedef {import('./reporter.mjs').TestEvent} TestEvent */
/**
 * @typedef {{ project: string, wallSeconds: number, cpuSeconds: number, left: number }} FileUse
 * `cpuSeconds`: of all processes of its vitest from the previous file's end to its own. `left`: tests that this tier
 * leaves out.
 */
/**
 * @typedef {{ file: string, title: string, error: string }} Failure `file`, `title`: empty when no test is to blame.
 */

export class Tally {
  passed = 0;
  /** @type {Failure[]} */
  failures = [];
  /** @type {Failure[]} Failures of files that passed when repeated: reported, but not counted. */
  unsteady = [];
  /** @type {Map<string, FileUse>} By path. */
  files = new Map();
  /** Processor seconds of all processes. */
  cpuSeconds = 0;

  get failed() {
    return this.failures.length;
  }

  /**
   * @param {string} error
   * @param {string} [file] File to blame.
   * @param {string} [title]
   */
  fail(error, file = '', title = '') {
    this.failures.push({ file, title, error });
  }

  /**
   * @param {Extract<TestEvent, { event: 'ended' }>} ended
   * @param {{ wallSeconds: number, cpuSeconds: number }} use
   */
  countFile({ file, project, tests, errors }, use) {
    let left = 0;
    for (const { title, outcome, error } of tests) {
      if (outcome === 'passed') this.passed += 1;
      else if (outcome === 'failed') this.fail(error, file, title);
      else if (outcome === 'skipped') this.fail('it did not run', file, title);
      else if (outcome === 'left') left += 1;
    }
    for (const error of errors) this.fail(error, file);
    if (tests.length === 0 && errors.length === 0) this.fail('it has no test', file);
    this.files.set(file, { project, ...use, left });
  }

  /**
   * Moves the failures of files that passed when repeated to `unsteady`.
   * @param {Tally} second
   */
  settleUnsteady(second) {
    const isSteady = (/** @type {Failure} */ { file }) =>
      !second.files.has(file) || second.failures.some((failure) => failure.file === file || failure.file === '');
    this.unsteady.push(...this.failures.filter((failure) => !isSteady(failure)));
    this.failures = this.failures.filter(isSteady);
    this.cpuSeconds += second.cpuSeconds;
  }

  /** @param {Tally} other Of other files, or of the points that this one left out. */
  add(other) {
    this.passed += other.passed;
    this.failures.push(...other.failures);
    this.unsteady.push(...other.unsteady);
    for (const [path, use] of other.files) this.files.set(path, use);
    this.cpuSeconds += other.cpuSeconds;
  }
}
