import { expect, test } from 'vitest';
import { budgetLines, LIMITS, overBudget } from '../../scripts/test/budget.mjs';

/** Unit of a machine half as fast as the reference. */
const UNIT = 2;

const used = (cpuSeconds: number, files: Record<string, [project: string, units: number]>) => ({
  cpuSeconds: cpuSeconds * UNIT,
  unit: UNIT,
  files: new Map(
    Object.entries(files).map(([path, [project, units]]) => [path, { project, cpuSeconds: units * UNIT }]),
  ),
});

test('a run within its limits reports nothing', () => {
  const within = used(LIMITS.run, { a: ['unit', LIMITS.unitFile], b: ['integration', LIMITS.file] });
  expect(overBudget(within)).toEqual([]);
});

test('each exceeded limit is named, of the run and of files', () => {
  const over = used(601, { slow: ['unit', 5.1], quick: ['unit', 1], dear: ['sagas', 20.1] });
  expect(overBudget(over)).toEqual([
    { file: '', error: 'npm test took 601.0 units, its limit is 600' },
    { file: 'slow', error: 'slow took 5.1 units, its limit is 5' },
    { file: 'dear', error: 'dear took 20.1 units, its limit is 20' },
  ]);
});

test('each project and the most expensive files are listed in units', () => {
  const lines = budgetLines(used(10, { a: ['unit', 1], b: ['unit', 2], c: ['sagas', 4] }));
  expect(lines).toContain('    3.0  unit');
  expect(lines).toContain('    4.0  sagas');
  expect(lines).toContain('    3.0  start-up and servers');
  expect(lines.slice(-3)).toEqual(['    4.0  c', '    2.0  b', '    1.0  a']);
});
