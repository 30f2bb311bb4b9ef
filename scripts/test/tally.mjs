// @ts-check
/**
 * Counts what a vitest said of its files, so that nothing that did not run is taken for passed.
 *
 * @module
 */

/** @typedef {import('./reporter.mjs').TestEvent} TestEvent */

export class Tally {
  passed = 0;
  failed = 0;
  /** @type {string[]} What failed. */
  reasons = [];
  /** @type {Map<string, number>} By file: how many cases of sweeps this run leaves out. */
  left = new Map();
  /** @type {Map<string, number>} Seconds by file. */
  seconds = new Map();
  /** @type {{ name: string, seconds: number }[]} The tests that ran, with their files. */
  ran = [];

  /** @param {string} reason */
  fail(reason) {
    this.failed += 1;
    this.reasons.push(reason);
  }

  /**
   * @param {Extract<TestEvent, { event: 'ended' }>} file
   * @param {number} seconds
   */
  countFile({ file, tests, errors }, seconds) {
    this.seconds.set(file, seconds);
    for (const { name, outcome, seconds: took, why } of tests) {
      if (outcome === 'passed' || outcome === 'failed') this.ran.push({ name: `${file}: ${name}`, seconds: took });
      if (outcome === 'passed') this.passed += 1;
      else if (outcome === 'failed') this.fail(`${file}: ${name}\n    ${why}`);
      else if (outcome === 'skipped') this.fail(`${file}: did not run: ${name}`);
      else if (outcome === 'left') this.left.set(file, (this.left.get(file) ?? 0) + 1);
    }
    for (const error of errors) this.fail(`${file}: ${error}`);
    if (tests.length === 0 && errors.length === 0) this.fail(`${file}: it has no test`);
  }

  /** @param {Tally} other */
  add(other) {
    this.#addCounts(other);
    for (const [file, count] of other.left) this.left.set(file, count);
    for (const [file, seconds] of other.seconds) this.seconds.set(file, seconds);
  }

  /**
   * Adds a run of the points that this one left out.
   * @param {Tally} rest
   */
  addRest(rest) {
    for (const file of rest.seconds.keys()) this.left.delete(file);
    this.#addCounts(rest);
  }

  /** @param {Tally} other */
  #addCounts({ passed, failed, reasons, ran }) {
    this.passed += passed;
    this.ran.push(...ran);
    this.failed += failed;
    this.reasons.push(...reasons);
  }
}
