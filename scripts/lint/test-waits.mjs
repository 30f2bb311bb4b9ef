// @ts-check
/**
 * Rule of oxlint for tests: a test waits for an event, never for a clock, since clocks fail on a busy machine. Instead
 * of a time there is test/support/eventually.ts, `expect.poll`, test/support/processor-time.ts, a ratio of two times of
 * one run, and for tests about time itself test/support/passage-of-time.ts.
 *
 * @module
 */

/** Minimum of a timeout, ms: it only ends a hanging test. */
const LEAST_BOUND_MS = 60_000;

const TIMERS = new Set(['node:timers', 'node:timers/promises', 'timers', 'timers/promises']);
const WAITS = 'A test waits for an event: eventually() or expect.poll().';
const CLOCKS = new Set(['Date', 'performance']);
const TESTS = new Set(['it', 'test', 'beforeAll', 'beforeEach', 'afterAll', 'afterEach']);

/**
 * Node of ESTree, with the fields that this rule reads.
 * @typedef {{ type: string } & Record<string, any>} Node
 */

/** @param {Node | null | undefined} node @param {string} object @param {readonly string[]} names */
const isCallOf = (node, object, names) =>
  node?.type === 'CallExpression' &&
  node['callee'].type === 'MemberExpression' &&
  node['callee'].object.name === object &&
  names.includes(node['callee'].property.name);

/** @param {Node} node */
const isNow = (node) => [...CLOCKS].some((clock) => isCallOf(node, clock, ['now']));

/** @param {Node | undefined} node */
const isShort = (node) =>
  node?.type === 'Literal' && typeof node['value'] === 'number' && node['value'] < LEAST_BOUND_MS;

/**
 * Reports whether an expression is a duration: now minus an earlier time. A quotient of two durations is not one.
 * @param {unknown} value @param {ReadonlySet<string>} durations Names of variables that hold one.
 * @returns {boolean}
 */
function isDuration(value, durations) {
  if (Array.isArray(value)) return value.some((each) => isDuration(each, durations));
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  const node = /** @type {Node} */ (value);
  if (node.type === 'Identifier') return durations.has(node['name']);
  if (/Function/.test(node.type)) return false;
  if (node.type === 'BinaryExpression') {
    const [left, right] = [isDuration(node['left'], durations), isDuration(node['right'], durations)];
    if (node['operator'] === '/' && left && right) return false;
    return left || right || (node['operator'] === '-' && isNow(node['left']) && node['right'].type !== 'Literal');
  }
  return Object.entries(node).some(
    ([key, child]) => key !== 'parent' && key !== 'property' && isDuration(child, durations),
  );
}

/** @param {{ report: (found: { node: Node, message: string }) => void }} context */
function create(context) {
  /** @type {Set<string>} */
  const durations = new Set();
  const report = (/** @type {Node} */ node, /** @type {string} */ message) => context.report({ node, message });
  return {
    /** @param {Node} node */
    ImportDeclaration(node) {
      const names = node['specifiers'].map((/** @type {Node} */ { imported }) => imported?.name);
      if (TIMERS.has(node['source'].value) && !names.every((/** @type {string} */ name) => name === 'setImmediate'))
        report(node, WAITS);
    },
    /** @param {Node} node */
    VariableDeclarator(node) {
      if (node['id'].type === 'Identifier' && isDuration(node['init'], durations)) durations.add(node['id'].name);
    },
    /** @param {Node} node */
    Property(node) {
      if (node['key'].name === 'timeout' && isShort(node['value']))
        report(node, 'A bound only ends what hangs: a minute at least, or none.');
    },
    /** @param {Node} node */
    CallExpression(node) {
      const { callee, arguments: given } = node;
      if (callee.name === 'setTimeout' || isCallOf(node, 'globalThis', ['setTimeout'])) report(node, WAITS);
      if (isCallOf(node, 'vi', ['waitFor', 'waitUntil'])) report(node, 'eventually() or expect.poll() polls.');
      if (isCallOf(node, 'AbortSignal', ['timeout']) && isShort(given[0]))
        report(node, 'A bound only ends what hangs: a minute at least.');
      if (TESTS.has(callee.name) && given.length > 1 && isShort(given.at(-1)))
        report(node, 'A bound only ends what hangs: a minute at least, or none.');
      if (callee.name === 'expect' && isDuration(given, durations))
        report(node, 'A wall-clock time is no promise: take a ratio, processor time or an order of events.');
    },
  };
}

export default {
  meta: { name: 'mayfly-tests' },
  rules: { 'wait-for-events': { meta: { type: 'problem' }, create } },
};
