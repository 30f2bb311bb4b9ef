import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { startPrivateLibvirtd } from '../../host/libvirt/private-libvirtd.ts';
import { ServedMayfly } from './served.ts';

/** A {@link ServedMayfly} on a libvirtd of its own for the tests of a file, and nothing of it after them. */
export function useServedOnLibvirt(): () => ServedMayfly {
  let mayfly: ServedMayfly | undefined;
  beforeAll(async () => {
    mayfly = await ServedMayfly.start({ MAYFLY_HOST: 'libvirt', MAYFLY_LIBVIRT_URI: 'private' });
  });
  afterAll(async () => {
    if (!mayfly) return;
    await mayfly.host?.end('SIGTERM');
    const libvirtd = await startPrivateLibvirtd(join(mayfly.state.root, 'host', 'libvirt'));
    await libvirtd.stop({ machines: true });
    await mayfly.stop();
  });
  return () => {
    if (!mayfly) throw new Error('Mayfly has not been started');
    return mayfly;
  };
}
