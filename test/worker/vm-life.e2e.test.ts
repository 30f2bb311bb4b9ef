import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { expectProof } from '../support/expect-proof.ts';
import { SOURCE, useLibvirtInstallation, WAIT } from '../support/libvirt-installation.ts';

const FILE = '/home/sandbox/note';

const { mayfly, inspect, bootedSnapshot } = useLibvirtInstallation();

async function run(id: string, command: string): Promise<string> {
  const { commands } = mayfly();
  const ended = await commands.run(id, { command }, WAIT);
  expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
  return (await text(await commands.output(id, ended.id, 'stdout'))).trim();
}

test('a virtual machine wakes, works, is saved with its memory, restored and destroyed with proof', async () => {
  const { id, state, ssh } = await mayfly().createSandbox({ snapshotId: await bootedSnapshot() }, WAIT);
  expect(state).toBe('running');
  expect(await inspect()).toEqual({
    domains: new Set([SOURCE, id]),
    leases: [ssh?.address],
    workspaces: [id],
    credentials: [id],
  });

  const { files, snapshots } = mayfly();
  await files.write(id, FILE, Buffer.from('kept'));
  expect(await run(id, 'hostname; hostname -I; echo kept >/dev/shm/memory')).toBe(`${id}\n${ssh?.address}`);
  const saved = await snapshots.take(id, { kind: 'full' }, WAIT);
  expect(saved).toMatchObject({ state: 'ready', kind: 'full' });
  await run(id, `echo lost >${FILE}; echo lost >/dev/shm/memory`);
  const restored = await snapshots.restore(id, { snapshotId: saved.id, keepCurrent: false }, WAIT);
  expect(restored.sandbox).toMatchObject({ state: 'running' });
  expect(await run(id, `cat ${FILE} /dev/shm/memory`)).toBe('keptkept');

  const destroyed = await mayfly().destroySandbox(id, WAIT);
  expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
  expectProof(destroyed);
});
