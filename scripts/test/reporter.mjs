// @ts-check
/**
 * A vitest reporter that says what happens as lines of JSON on a file descriptor, so that whoever started vitest knows
 * how far it came even when it dies or hangs. `MAYFLY_TEST_EVENTS` is that descriptor's number.
 *
 * @module
 */
import { writeSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

/**
 * `left`: a case that this tier leaves out, by its tag. `filtered`: not chosen by name or tag. `skipped`: it should have
 * run and did not.
 * @typedef {'passed' | 'failed' | 'left' | 'filtered' | 'skipped'} Outcome
 */

/**
 * @typedef {(
 *   | { event: 'begun', file: string }
 *   | { event: 'at', file: string, what: string, boundMs?: number | undefined }
 *   | { event: 'ended', file: string, tests: { name: string, outcome: Outcome, seconds: number, why: string }[], errors: string[] }
 *   | { event: 'over', errors: string[] }
 * )} TestEvent `at`: the test or hook that begins, or that a hook has ended, `boundMs` the test's own time-out, or the longest of its file. `errors` of a file are those that no failed test shows.
 */

const descriptor = Number(process.env['MAYFLY_TEST_EVENTS']);
const isFiltered = process.env['MAYFLY_TEST_FILTERED'] === '1';

/** @param {TestEvent} event */
function tell(event) {
  writeSync(descriptor, `${JSON.stringify(event)}\n`);
}

/** @param {{ message: string, stack?: string }} error */
const wordsOf = (error) => stripVTControlCharacters(error.stack ?? error.message);

/** @param {string} text */
const firstLineOf = (text) => stripVTControlCharacters(text).split('\n', 1)[0]?.slice(0, 300) ?? '';

export default class EventReporter {
  /** @param {import('vitest/node').TestModule} module */
  onTestModuleQueued(module) {
    tell({ event: 'begun', file: module.relativeModuleId });
  }

  /** @param {import('vitest/node').TestCase} test */
  onTestCaseReady(test) {
    tell({ event: 'at', file: test.module.relativeModuleId, what: test.fullName, boundMs: test.options.timeout });
  }

  /** @param {import('vitest/node').ReportedHookContext} hook */
  onHookStart({ name, entity }) {
    const module = entity.type === 'module' ? entity : entity.module;
    const of = entity.type === 'module' ? '' : ` of ${entity.fullName}`;
    tell({ event: 'at', file: module.relativeModuleId, what: `${name}${of}` });
  }

  /**
   * Vitest may keep the news that a test has begun until the next news (its throttle leaves off when a timer fires in its 100th
   * millisecond): a first test that is long and silent has its time all the same.
   * @param {import('vitest/node').ReportedHookContext} hook
   */
  onHookEnd({ name, entity }) {
    if (name !== 'beforeAll' || entity.type !== 'module') return;
    const longest = Math.max(0, ...[...entity.children.allTests()].map(({ options }) => options.timeout ?? 0));
    tell({ event: 'at', file: entity.relativeModuleId, what: 'its first test', boundMs: longest });
  }

  /** @param {import('vitest/node').TestModule} module */
  onTestModuleEnd(module) {
    const cases = [...module.children.allTests()];
    const tests = cases.map((test) => ({
      name: test.fullName,
      outcome: outcomeOf(test),
      seconds: (test.diagnostic()?.duration ?? 0) / 1_000,
      why: firstLineOf(test.result().errors?.[0]?.message ?? ''),
    }));
    const shown = tests.some(({ outcome }) => outcome === 'failed');
    const suites = [module, ...module.children.allSuites()];
    const errors = suites.flatMap((suite) => suite.errors().map(wordsOf));
    if (errors.length === 0 && !shown && module.state() === 'failed') errors.push('it failed without saying why');
    tell({ event: 'ended', file: module.relativeModuleId, tests, errors: shown ? [] : errors });
  }

  /**
   * @param {readonly import('vitest/node').TestModule[]} _
   * @param {readonly { message: string, stack?: string }[]} errors
   */
  onTestRunEnd(_, errors) {
    tell({ event: 'over', errors: errors.map(wordsOf) });
  }
}

/**
 * @param {import('vitest/node').TestCase} test
 * @returns {Outcome}
 */
function outcomeOf(test) {
  const { state } = test.result();
  if (state === 'passed' || state === 'failed') return state;
  if (test.options.mode !== 'skip') return 'skipped';
  if (isFiltered) return 'filtered';
  return test.tags.includes('sweep') || test.tags.includes('full') ? 'left' : 'skipped';
}
