import { expect, test } from 'vitest';
import { expectProof } from '../support/expect-proof.ts';
import { useLibvirtInstallation, WAIT } from '../support/libvirt-installation.ts';

const { mayfly, bootedSnapshot, run } = useLibvirtInstallation();

test('a virtual machine is saved with its memory, restored and destroyed with proof', async () => {
  const { id } = await mayfly.createSandbox({ snapshotId: await bootedSnapshot() }, WAIT);
  const { snapshots } = mayfly;
  await run(id, 'echo kept >note; echo kept >/dev/shm/memory');
  const saved = await snapshots.take(id, { kind: 'full' }, WAIT);
  expect(saved).toMatchObject({ state: 'ready', kind: 'full' });
  await run(id, 'echo lost >note; echo lost >/dev/shm/memory');
  const restored = await snapshots.restore(id, { snapshotId: saved.id, keepCurrent: false }, WAIT);
  expect(restored.sandbox).toMatchObject({ state: 'running' });
  expect(await run(id, 'cat note /dev/shm/memory')).toBe('kept\nkept');
  expectProof(await mayfly.destroySandbox(id, WAIT));
});
