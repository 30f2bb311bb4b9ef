import { expect, test } from 'vitest';
import { reportLines } from '../../scripts/test/report.mjs';
import { Tally } from '../../scripts/test/tally.mjs';

test('each failed test is reported at the end with its error and the command that repeats it', () => {
  const tally = new Tally();
  tally.passed = 3;
  const error = Array.from({ length: 12 }, (_, n) => `line ${n + 1}`).join('\n');
  tally.fail(error, 'test/a.test.ts', "a file > it's (quick)");
  tally.fail('left behind: process 7 sleep', 'test/b.test.ts');
  tally.fail('interrupted before the end');
  const lines = reportLines(tally, { MAYFLY_TEST_SEED: 'x' });
  expect(lines).toContain("FAILED: test/a.test.ts: a file > it's (quick)");
  expect(lines).toContain('    line 10');
  expect(lines).not.toContain('    line 11');
  expect(lines).toContain("    alone: MAYFLY_TEST_SEED=x npm test -- test/a.test.ts -t 'a file it'\\''s \\(quick\\)'");
  expect(lines).toContain('    alone: MAYFLY_TEST_SEED=x npm test -- test/b.test.ts');
  expect(lines).toContain('FAILED: interrupted before the end');
  expect(lines.at(-1)).toBe('3 passed, 3 failed');
});

test('skipped tests are counted', () => {
  const tally = new Tally();
  const tests = ['passed', 'left', 'left'] as const;
  tally.countFile(
    {
      event: 'ended',
      file: 'a',
      project: 'unit',
      tests: tests.map((outcome) => ({ title: 't', outcome, error: '' })),
      errors: [],
    },
    { wallSeconds: 1, cpuSeconds: 1 },
  );
  expect(reportLines(tally, {})).toEqual([
    'left out in 1 files: 2 tests; `npm run test:all` runs them',
    '1 passed, 0 failed',
  ]);
});

test('a file that passes in its second run is reported as flaky, and one that fails again fails the run', () => {
  const [first, second] = [new Tally(), new Tally()];
  const tests = (outcome: 'passed' | 'failed') => [{ title: 't', outcome, error: 'empty' }];
  for (const file of ['a', 'b', 'hung']) {
    const use = { wallSeconds: 1, cpuSeconds: 1 };
    first.countFile({ event: 'ended', file, project: 'e2e', tests: tests('failed'), errors: [] }, use);
    const outcome = file === 'b' ? 'failed' : 'passed';
    if (file !== 'hung')
      second.countFile({ event: 'ended', file, project: 'e2e', tests: tests(outcome), errors: [] }, use);
  }
  first.settleUnsteady(second);
  expect(first.failures.map(({ file }) => file)).toEqual(['b', 'hung']);
  expect(reportLines(first, {}).slice(0, 3)).toEqual(['', 'UNSTEADY, passed in a second run:', 'FAILED: a: t']);
});
