import { expect, it } from 'vitest';
import { startPrivateLibvirtd } from '../../host/libvirt/network/private-libvirtd.ts';
import { startStoreServer } from '../../worker/servers/store-server.ts';

// Guards: a folder that a server cannot use is refused, with the setting, before anything is written.

it.each(['/srv/50%', '/srv/a?b', `/srv/${'a'.repeat(100)}`])('a store in %s', async (dir) => {
  await expect(startStoreServer(dir)).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('MAYFLY_STATE_DIR'),
  });
});

it.each([`/srv/${'a'.repeat(80)}`, `/srv/${'ü'.repeat(40)}`, '/srv/a\nb'])(
  'a private libvirtd in %j',
  async (folder) => {
    await expect(startPrivateLibvirtd(folder)).rejects.toMatchObject({
      code: 'host_unavailable',
      message: expect.stringContaining('MAYFLY_STATE_DIR'),
    });
  },
);
