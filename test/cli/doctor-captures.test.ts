import { expect, test } from 'vitest';
import { type CaptureLook, captureLines, isClean } from '../../cli/doctor/captures.ts';
import { Io } from '../../cli/terminal/io.ts';

const { signal } = new AbortController();
const sink = { write: () => true };
const io = new Io({ stdout: sink, stderr: sink, env: {}, signal, force: signal });

const id = (n: number) => `cap-000000000000000${n}`;
const half = { captureId: id(1), state: 'half', recorded: 'failed', isSafe: true, removed: false } as const;
const unknown = { captureId: id(2), state: 'whole', recorded: null, isSafe: false, removed: false } as const;
const lost = { captureId: id(3), state: 'half', recorded: 'ready', isSafe: false, removed: false } as const;

test('says of each what it is, and what helps', () => {
  expect(captureLines(io, { captures: [half, unknown, lost] })).toEqual([
    `residue ${half.captureId} half made or half removed; the store says that it is failed`,
    `unknown ${unknown.captureId} whole, but the store has no record of it: it may be another store's. It is not removed`,
    `broken ${lost.captureId} half, but the store says that it is ready: it cannot be cloned. Delete it with \`mayfly capture delete\``,
    'do: `mayfly doctor --fix` removes what is left of captures that failed or were deleted',
  ]);
  const busy = { captures: [half], capturesNotRemoved: 'another host worker\u001b[2J serves it' };
  expect(captureLines(io, busy).at(-1)).not.toContain('\u001b');
  expect(captureLines(io, { captures: [] })).toEqual([]);
});

test.each<[CaptureLook, boolean]>([
  [{ captures: [] }, true],
  [{ captures: [{ ...half, removed: true }] }, true],
  [{ captures: [half] }, false],
  [{ captures: [unknown] }, false],
  [{ capturesUnknown: 'the store does not answer' }, false],
])('%j is clean: %s', (look, clean) => {
  expect(isClean(look)).toBe(clean);
});
