import { expect, test } from 'vitest';
import { isClean, type SnapshotLook, snapshotLines } from '../../cli/doctor/snapshots.ts';
import { Io } from '../../cli/terminal/io.ts';
import { snapshotId } from '../store/support.ts';

const { signal } = new AbortController();
const sink = { write: () => true };
const io = new Io({ stdout: sink, stderr: sink, env: {}, signal, force: signal });

const kept = { snapshotId: snapshotId(1), state: 'kept', recorded: 'deleted', isSafe: true, removed: false } as const;
const half = { snapshotId: snapshotId(2), state: 'half', recorded: 'failed', isSafe: true, removed: false } as const;
const unknown = { snapshotId: snapshotId(3), state: 'whole', recorded: null, isSafe: false, removed: false } as const;
const lost = { snapshotId: snapshotId(4), state: 'half', recorded: 'ready', isSafe: false, removed: false } as const;

test('says of each what it is, and what helps', () => {
  expect(snapshotLines(io, { snapshots: [kept, half, unknown, lost] })).toEqual([
    `kept ${kept.snapshotId} deleted, but a sandbox or another snapshot refers to it; the store says that it is deleted`,
    `residue ${half.snapshotId} half made or half removed; the store says that it is failed`,
    `unknown ${unknown.snapshotId} whole, but the store has no record of it: it may be another store's. It is not removed`,
    `broken ${lost.snapshotId} half, but the store says that it is ready: it cannot be restored. Delete it with \`mayfly snapshot delete\``,
    'do: `mayfly doctor --fix` removes what is left of snapshots that failed or were deleted',
  ]);
  const busy = { snapshots: [half], snapshotsNotRemoved: 'another host worker\u001b[2J serves it' };
  expect(snapshotLines(io, busy).at(-1)).not.toContain('\u001b');
  expect(snapshotLines(io, busy).at(-1)).toContain('not removed: another host worker');
  expect(snapshotLines(io, { snapshots: [{ ...half, removed: true }] })).toEqual([
    `removed ${half.snapshotId} half made or half removed; the store says that it is failed`,
  ]);
  expect(snapshotLines(io, { snapshots: [] })).toEqual([]);
});

test.each<[SnapshotLook, boolean]>([
  [{ snapshots: [] }, true],
  [{ snapshots: [kept, { ...half, removed: true }] }, true],
  [{ snapshots: [half] }, false],
  [{ snapshots: [unknown] }, false],
  [{ snapshotsUnknown: 'the store does not answer' }, false],
])('%j is clean: %s', (look, clean) => {
  expect(isClean(look)).toBe(clean);
});
