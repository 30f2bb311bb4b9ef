import { expect, test } from 'vitest';
import { Thawing } from '../../../host/libvirt/layers/thawing.ts';
import { GIB } from '../../../model/snapshots/storage.ts';
import { newId } from '../simulated/machine.ts';

const sandboxId = newId();
const attempt = { sandboxId, kind: 'disk', quiesce: true, at: '2026-11-21T20:00:00.000Z' } as const;

function guest(isStopped: boolean, availableBytes: number) {
  const done: string[] = [];
  const note = (what: string) => async () => void done.push(what);
  const thawing = new Thawing({
    domains: { isStoppedByError: async () => isStopped, bring: async (_id, wished) => void done.push(wished) },
    agent: { thaw: note('file systems') },
    freezer: { thaw: note('processes') },
    jobs: { stopSnapshot: note('no save any more') },
    disk: async () => ({ totalBytes: 100 * GIB, availableBytes }),
  });
  return { thawing, done };
}

test('a guest that runs is asked, for what may be frozen in it', async () => {
  const { thawing, done } = guest(false, 0);
  await thawing.thaw(attempt);
  await thawing.thaw({ ...attempt, kind: 'full', quiesce: false });
  await thawing.thaw({ ...attempt, quiesce: false });
  await thawing.thaw(null);
  expect(done).toEqual(['file systems', 'no save any more', 'processes']);
});

test('one that QEMU stopped on a full disk goes on first, when there is room again', async () => {
  const { thawing, done } = guest(true, 50 * GIB);
  await thawing.thaw(attempt);
  expect(done).toEqual(['running', 'file systems']);
});

test('without room it stands still, is not asked, and what it waits for is said', async () => {
  const { thawing, done } = guest(true, GIB);
  const message = expect.stringMatching(/waits for room: 1\.0 GiB of the host's disk of 100\.0 GiB are free/);
  await expect(thawing.thaw(attempt)).rejects.toMatchObject({ code: 'host_disk_full', message });
  expect(done).toEqual([]);
});

test('one that is paused, and of which nothing may be frozen, stays paused', async () => {
  const { thawing, done } = guest(true, 50 * GIB);
  await thawing.thaw({ ...attempt, quiesce: false });
  expect(done).toEqual([]);
});
