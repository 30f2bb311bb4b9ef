import { expect, test } from 'vitest';
import { Thaw } from '../../../host/libvirt/live/unquiescing.ts';
import { GIB } from '../../../model/snapshots/storage.ts';
import { newId } from '../simulated/machine.ts';

const sandboxId = newId();
const attempt = { sandboxId, kind: 'disk', quiesce: true, at: '2026-11-21T20:00:00.000Z' } as const;

function guest(isStopped: boolean, availableBytes: number) {
  const done: string[] = [];
  const note = (what: string) => async () => void done.push(what);
  const unquiescing = new Thaw({
    domains: { isStoppedByError: async () => isStopped, bring: async (_id, wished) => void done.push(wished) },
    agent: { thaw: note('file systems') },
    freezer: { thaw: note('processes') },
    jobs: { stopSnapshot: note('no save any more') },
    disk: async () => ({ totalBytes: 100 * GIB, availableBytes }),
  });
  return { unquiescing, done };
}

test('a running guest is thawed, as far as the attempt may have frozen it', async () => {
  const { unquiescing, done } = guest(false, 0);
  await unquiescing.thaw(attempt);
  await unquiescing.thaw({ ...attempt, kind: 'full', quiesce: false });
  await unquiescing.thaw({ ...attempt, quiesce: false });
  await unquiescing.thaw(null);
  expect(done).toEqual(['file systems', 'no save any more', 'processes']);
});

test('a guest that QEMU paused on a full disk is resumed first, once there is space', async () => {
  const { unquiescing, done } = guest(true, 50 * GIB);
  await unquiescing.thaw(attempt);
  expect(done).toEqual(['running', 'file systems']);
});

test('without space the guest stays paused, and the error names the missing space', async () => {
  const { unquiescing, done } = guest(true, GIB);
  const message = expect.stringMatching(/waits for room: 1\.0 GiB of the host's disk of 100\.0 GiB are free/);
  await expect(unquiescing.thaw(attempt)).rejects.toMatchObject({ code: 'host_disk_full', message });
  expect(done).toEqual([]);
});

test('a paused guest that was not frozen stays paused', async () => {
  const { unquiescing, done } = guest(true, 50 * GIB);
  await unquiescing.thaw({ ...attempt, quiesce: false });
  expect(done).toEqual([]);
});
