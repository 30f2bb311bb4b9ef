import { expect, test } from 'vitest';
import { auditLines, isAuditWhole } from '../../cli/doctor/audit.ts';
import { isClean as areCapturesClean, type CaptureLook, captureLines } from '../../cli/doctor/captures.ts';
import { isClean as areSnapshotsClean, type SnapshotLook, snapshotLines } from '../../cli/doctor/snapshots.ts';
import { quietIo } from './run-line.ts';

const io = quietIo();
const found = (state: 'half' | 'whole' | 'kept', recorded: string | null, isSafe: boolean) =>
  ({ state, recorded, isSafe, removed: false }) as const;
const HALF = found('half', 'failed', true);
const UNKNOWN = found('whole', null, false);
const LOST = found('half', 'ready', false);

test('doctor names the audit trail that cannot be continued, and why; what the store holds may be hostile', () => {
  const fault = {
    sandboxId: 'sbx-0000000000000001',
    why: 'entry 5\u001b[2J',
    since: '2026-01-01T00:00:00.000Z',
    waiting: 2,
  };
  const [line = ''] = auditLines(io, { auditFaults: [fault] });
  expect(line).toContain('sbx-0000000000000001: 2 events wait since 2026-01-01T00:00:00.000Z: entry 5');
  expect(line).not.toContain('\u001b');
  expect(isAuditWhole({ auditFaults: [fault] })).toBe(false);
  expect(isAuditWhole({ auditFaults: [] })).toBe(true);
  expect(auditLines(io, { auditUnknown: 'first mend what is missing' })).toHaveLength(1);
});

test.each([
  [
    'capture',
    'cloned',
    (look: object) => captureLines(io, look as CaptureLook),
    (look: object) => areCapturesClean(look as CaptureLook),
  ],
  [
    'snapshot',
    'restored',
    (look: object) => snapshotLines(io, look as SnapshotLook),
    (look: object) => areSnapshotsClean(look as SnapshotLook),
  ],
] as const)('doctor says of each %s what it is, and what helps', (what, used, lines, isClean) => {
  const id = (n: number) => `${what === 'capture' ? 'cap' : 'snp'}-000000000000000${n}`;
  const list = (...all: object[]) => ({ [`${what}s`]: all.map((one, n) => ({ [`${what}Id`]: id(n), ...one })) });
  expect(lines(list(HALF, UNKNOWN, LOST))).toEqual([
    `residue ${id(0)} half made or half removed; the store says that it is failed`,
    `unknown ${id(1)} whole, but the store has no record of it: it may be another store's. It is not removed`,
    `broken ${id(2)} half, but the store says that it is ready: it cannot be ${used}. Delete it with \`mayfly ${what} delete\``,
    `do: \`mayfly doctor --fix\` removes what is left of ${what}s that failed or were deleted`,
  ]);
  const busy = lines({ ...list(HALF), [`${what}sNotRemoved`]: 'another host worker\u001b[2J serves it' }).at(-1);
  expect(busy).not.toContain('\u001b');
  expect(busy).toContain('not removed: another host worker');
  expect(lines(list({ ...HALF, removed: true }))).toEqual([
    `removed ${id(0)} half made or half removed; the store says that it is failed`,
  ]);
  expect(lines(list())).toEqual([]);
  const looks = [list(), list({ ...HALF, removed: true }), list(HALF), list(UNKNOWN)];
  expect(looks.map(isClean)).toEqual([true, true, false, false]);
  expect(isClean({ [`${what}sUnknown`]: 'the store does not answer' })).toBe(false);
});

test('doctor says of a deleted snapshot that something refers to it, which is clean', () => {
  const snapshots = [{ snapshotId: 'snp-0000000000000001', ...found('kept', 'deleted', true) }];
  expect(snapshotLines(io, { snapshots } as SnapshotLook)[0]).toBe(
    'kept snp-0000000000000001 deleted, but a sandbox or another snapshot refers to it; the store says that it is deleted',
  );
  expect(areSnapshotsClean({ snapshots } as SnapshotLook)).toBe(true);
});
