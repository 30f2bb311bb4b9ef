import { expect, test } from 'vitest';
import { expectProof } from '../support/expect-proof.ts';
import { SOURCE, useLibvirtInstallation, WAIT } from '../support/libvirt-installation.ts';

const { mayfly, inspect, bootedSnapshot, run } = useLibvirtInstallation();

test('a virtual machine wakes, works and is destroyed with proof', async () => {
  const { id, state, ssh } = await mayfly.createSandbox({ snapshotId: await bootedSnapshot() }, WAIT);
  expect(state).toBe('running');
  expect(await inspect()).toEqual({
    domains: new Set([SOURCE, id]),
    leases: [ssh?.address],
    workspaces: [id],
    credentials: [id],
  });

  const { files } = mayfly;
  await files.write(id, '/home/sandbox/note', Buffer.from('kept'));
  expect(await run(id, 'hostname; hostname -I; cat note')).toBe(`${id}\n${ssh?.address} \nkept`);

  const destroyed = await mayfly.destroySandbox(id, WAIT);
  expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
  expectProof(destroyed);
});
