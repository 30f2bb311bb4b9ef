// @ts-check
/**
 * Vitest reporter that writes events as JSON lines to a file descriptor, so that the parent knows the progress even
 * when vitest dies or hangs. `MAYFLY_TEST_EVENTS` is that descriptor's number.
 *
 * @module
 */
import { writeSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

/**
 * Outcome of a test. `left`: a case that this tier leaves out, by its tag. `filtered`: not chosen by name or tag.
 * `skipped`: it should have run and did not.
 * @typedef {'passed' | 'failed' | 'left' | 'filtered' | 'skipped'} Outcome
 */

/** @typedef {{ title: string, outcome: Outcome, error: string }} TestResult */

/**
 * @typedef {(
 *   | { event: 'begun', file: string }
 *   | { event: 'at', file: string, what: string }
 *   | { event: 'ended', file: string, project: string, tests: TestResult[], errors: string[] }
 *   | { event: 'over', errors: string[] }
 * )} TestEvent `at`: the test or hook that begins. `errors` of a file are those that no failed test shows.
 */

const descriptor = Number(process.env['MAYFLY_TEST_EVENTS']);
/** Maximum characters of an error. */
const KEPT_ERROR = 4_000;
const isFiltered = process.env['MAYFLY_TEST_FILTERED'] === '1';

/** @param {TestEvent} event */
function tell(event) {
  writeSync(descriptor, `${JSON.stringify(event)}\n`);
}

/** @param {{ message: string, stack?: string }} error */
const wordsOf = (error) => stripVTControlCharacters(error.stack ?? error.message);

export default class EventReporter {
  /** @param {import('vitest/node').TestModule} module */
  onTestModuleQueued(module) {
    tell({ event: 'begun', file: module.relativeModuleId });
  }

  /** @param {import('vitest/node').TestCase} test */
  onTestCaseReady(test) {
    tell({ event: 'at', file: test.module.relativeModuleId, what: test.fullName });
  }

  /** @param {import('vitest/node').ReportedHookContext} hook */
  onHookStart({ name, entity }) {
    const module = entity.type === 'module' ? entity : entity.module;
    const of = entity.type === 'module' ? '' : ` of ${entity.fullName}`;
    tell({ event: 'at', file: module.relativeModuleId, what: `${name}${of}` });
  }

  /** @param {import('vitest/node').TestModule} module */
  onTestModuleEnd(module) {
    const cases = [...module.children.allTests()];
    const tests = cases.map((test) => ({
      title: test.fullName,
      outcome: outcomeOf(test),
      error: errorOf(test),
    }));
    const shown = tests.some(({ outcome }) => outcome === 'failed');
    const suites = [module, ...module.children.allSuites()];
    const errors = suites.flatMap((suite) => suite.errors().map(wordsOf));
    if (errors.length === 0 && !shown && module.state() === 'failed') errors.push('it failed without saying why');
    const project = module.project.name;
    tell({ event: 'ended', file: module.relativeModuleId, project, tests, errors: shown ? [] : errors });
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
 * Returns message, difference and location of its first error.
 * @param {import('vitest/node').TestCase} test
 */
function errorOf(test) {
  const [error] = test.result().errors ?? [];
  if (!error) return '';
  const at = error.stacks?.[0];
  const place = at ? `at ${at.file}:${at.line}:${at.column}\n` : '';
  return stripVTControlCharacters(`${error.message}\n${place}${error.diff ?? ''}`).slice(0, KEPT_ERROR);
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
  return test.tags.includes('sweep') || test.tags.includes('tool') ? 'left' : 'skipped';
}
