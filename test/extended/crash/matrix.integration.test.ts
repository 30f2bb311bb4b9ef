import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCell } from '../../crash/cell-run.ts';
import { type Cell, cellsOn, nameOf } from '../../crash/cells.ts';
import { type Standing, standUp } from '../../crash/standing.ts';
import { pageOf } from '../../crash/table.ts';
import { seed, sweep } from '../../support/sweep.ts';
import { useFolder } from '../../support/use-folder.ts';

const all = cellsOn('simulated');
const CELLS = [
  'create/bootDomain.after/store',
  'create/undo:removeDomain.before/api',
  'destroy/lookAgain.after/temporal',
  'claim/recordClaim.after/store',
  'claim a shared one/admitClaim.after/control',
  'approved create/rememberEvent.after/api',
  'open a port/rememberEvent.after/api',
  'snapshot/saveSnapshot.during/host',
  'restore/revertDisk.during/host',
  'delete snapshot/removeSnapshot.during/host',
  'bake/flattenDisks.during/host',
  'delete source/removeSource.during/host',
  'command/runCommand.after/host',
];

const root = useFolder();
let standing: Standing;

beforeAll(async () => {
  standing = await standUp(join(root, 'one'), 'simulated', null);
});
afterAll(async () => {
  await standing?.end();
});

function cellNamed(name: string): Cell {
  const cell = all.find((each) => nameOf(each) === name);
  if (!cell) throw new Error(`there is no cell ${name}`);
  return cell;
}

sweep(CELLS)('the cell %s is green', async (name) => {
  const result = await runCell(standing.stage, standing.agreement, cellNamed(name), seed());
  expect(result.why).toBe('');
  expect(result).toMatchObject({ cell: name, verdict: 'green' });
});

test('residue on the machine makes a cell red, and so does a point that is never reached', async () => {
  const { stage, agreement } = standing;
  const residue = join(stage.mayfly.hostDir(), 'sandboxes', 'sbx-0000000000000000');
  await mkdir(residue);
  try {
    expect(await agreement.disagreements('what is alive')).toEqual([
      `host: workspace of sbx-0000000000000000: ${residue}`,
    ]);
  } finally {
    await rm(residue, { recursive: true });
  }
  const never: Cell = { saga: 'create', point: 'removeSource.before', fault: '', victim: 'api' };
  expect(await runCell(stage, agreement, never, seed())).toMatchObject({
    verdict: 'red',
    why: expect.stringContaining('never reached'),
  });
  await agreement.holds('what is alive', 60_000);
  expect(await agreement.disagreements('nothing')).toEqual([expect.stringMatching(/^store: sbx-\w+ is still there$/)]);
});

test('no two cells have one name; the page keeps the part of the other kind of host', () => {
  expect(new Set(all.map(nameOf)).size).toBe(all.length);
  const first = all[0] as Cell;
  const result = {
    cell: nameOf(first),
    verdict: 'red',
    outcome: '',
    why: 'a reason\nmore',
    seed: 'x',
    seconds: 3,
    commit: 'abc',
  } as const;
  const page = pageOf({ kind: 'simulated', all, results: [result], lanes: 1 }, '');
  expect(page).toContain('**0/1**');
  expect(page).toContain(`\`${nameOf(first)}\`, seed x: a reason more`);
  const both = pageOf({ kind: 'libvirt', all: cellsOn('libvirt'), results: [], lanes: 1 }, page);
  expect(both).toContain('**0/1**');
});
