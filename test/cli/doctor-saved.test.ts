import { expect, test } from 'vitest';
import { isClean, type SavedLook, savedLines } from '../../cli/doctor/command.ts';
import { snapshotId } from '../store/support.ts';
import { quietIo } from './run-line.ts';

const io = quietIo();

const kept = { id: snapshotId(1), state: 'kept', recorded: 'deleted', isSafe: true, removed: false } as const;
const half = { id: snapshotId(2), state: 'half', recorded: 'failed', isSafe: true, removed: false } as const;
const unknown = { id: snapshotId(3), state: 'whole', recorded: null, isSafe: false, removed: false } as const;
const lost = { id: snapshotId(4), state: 'half', recorded: 'ready', isSafe: false, removed: false } as const;

test.each([
  ['snapshots', 'cannot be restored. Delete it with `mayfly snapshot delete`'],
  ['captures', 'cannot be cloned. Delete it with `mayfly capture delete`'],
] as const)('prints the state of each of the %s, and the remedy', (kind, remedy) => {
  expect(savedLines(io, kind, { found: [kept, half, unknown, lost] })).toEqual([
    `kept ${kept.id} deleted, but a sandbox or another snapshot refers to it; the store says that it is deleted`,
    `residue ${half.id} half made or half removed; the store says that it is failed`,
    `unknown ${unknown.id} whole, but the store has no record of it: it may be another store's. It is not removed`,
    `broken ${lost.id} half, but the store says that it is ready: it ${remedy}`,
    `do: \`mayfly doctor --fix\` removes what is left of ${kind} that failed or were deleted`,
  ]);
  const busy = { found: [half], notRemoved: 'another host worker\u001b[2J serves it' };
  expect(savedLines(io, kind, busy).at(-1)).not.toContain('\u001b');
  expect(savedLines(io, kind, busy).at(-1)).toContain('not removed: another host worker');
  expect(savedLines(io, kind, { found: [{ ...half, removed: true }] })).toEqual([
    `removed ${half.id} half made or half removed; the store says that it is failed`,
  ]);
  expect(savedLines(io, kind, { found: [] })).toEqual([]);
});

test.each<[SavedLook, boolean]>([
  [{ found: [] }, true],
  [{ found: [kept, { ...half, removed: true }] }, true],
  [{ found: [half] }, false],
  [{ found: [unknown] }, false],
  [{ unknown: 'the store does not answer' }, false],
])('%j is clean: %s', (look, clean) => {
  expect(isClean(look)).toBe(clean);
});
