import { randomBytes } from 'node:crypto';
import { chmod, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SavedMemory, savedMemoryFolder } from '../../../host/libvirt/client/saved-memory.ts';
import { SnapshotFolder } from '../../../host/libvirt/layers/snapshot-folder.ts';
import { leaseFolderOf } from '../../../host/libvirt/network/private-libvirtd.ts';
import { expectProof } from '../../support/expect-proof.ts';
import { useLibvirtInstallation, WAIT } from '../../support/libvirt-installation.ts';

const { state, mayfly, bootedSnapshot, run } = useLibvirtInstallation();
const KIBIBYTE = 1_024;

async function damage(path: string, at: number): Promise<void> {
  await chmod(path, 0o600);
  const file = await open(path, 'r+');
  await file.write(randomBytes(256 * KIBIBYTE), 0, 256 * KIBIBYTE, at);
  await file.close();
}

// Promise: what a machine is replaced by is compared with what was saved before the machine is touched. Costs 15 s.
test('a snapshot that is damaged in its tables is restored to no machine and forked to none', async () => {
  const { id } = await mayfly.createSandbox({ snapshotId: await bootedSnapshot() }, WAIT);
  const { snapshots } = mayfly;
  await run(id, 'echo kept >note; sync');
  const saved = await snapshots.take(id, { kind: 'disk' }, WAIT);
  const bootId = await run(id, 'cat /proc/sys/kernel/random/boot_id');
  await damage(new SnapshotFolder(state, saved.id).layerOf('vda'), 128 * KIBIBYTE);

  const restore = snapshots.restore(id, { snapshotId: saved.id, keepCurrent: false }, WAIT);
  await expect(restore).rejects.toMatchObject({ code: 'source_changed' });
  expect(await mayfly.getSandbox(id)).toMatchObject({ state: 'running' });
  expect(await run(id, 'cat /proc/sys/kernel/random/boot_id note')).toBe(`${bootId}\nkept`);

  const [fork] = await snapshots.fork({ snapshotId: saved.id, count: 1 }, WAIT);
  expect(fork).toMatchObject({ problem: { code: 'source_changed' } });
  expectProof(await mayfly.destroySandbox(id, WAIT));
  await snapshots.delete(saved.id, WAIT);
});

test('a hibernated sandbox whose memory has changed is not woken, stays hibernated, and is destroyed', async () => {
  const { id } = await mayfly.createSandbox({ snapshotId: await bootedSnapshot() }, WAIT);
  expect(await mayfly.hibernateSandbox(id, WAIT)).toMatchObject({ state: 'hibernated' });
  const memory = new SavedMemory(savedMemoryFolder(leaseFolderOf(join(state.root, 'libvirt')))).of(id);
  await damage(memory, Math.floor((await stat(memory)).size / 2));

  await expect(mayfly.resumeSandbox(id, WAIT)).rejects.toMatchObject({ code: 'wake_failed' });
  expect(await mayfly.getSandbox(id)).toMatchObject({ state: 'hibernated' });
  expectProof(await mayfly.destroySandbox(id, WAIT));
});
