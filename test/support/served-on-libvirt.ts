import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { startPrivateLibvirtd } from '../../host/libvirt/network/private-libvirtd.ts';
import { connectStore } from '../../store/connect.ts';
import { addBootedSnapshot } from './booted-snapshot.ts';
import { proveCleanSlate } from './clean-slate.ts';
import { HOST_ID, ServedMayfly } from './served.ts';

/**
 * A {@link ServedMayfly} on a libvirtd of its own for the tests of a file, and nothing of it after them.
 * @param hostEnv more of its host worker's environment @param allEnv more of each process's
 */
export function useServedOnLibvirt(
  hostEnv: NodeJS.ProcessEnv = {},
  allEnv: NodeJS.ProcessEnv = {},
): () => ServedMayfly {
  let mayfly: ServedMayfly | undefined;
  beforeAll(async () => {
    await proveCleanSlate();
    const libvirt = { MAYFLY_HOST: 'libvirt', MAYFLY_LIBVIRT_URI: 'private' };
    mayfly = await ServedMayfly.start({ ...libvirt, ...hostEnv }, allEnv);
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

/** The id of a snapshot with memory, for sandboxes whose booting is not what is tested. */
export async function bootedSnapshot({ state, storeUri }: ServedMayfly): Promise<string> {
  const store = await connectStore(storeUri);
  try {
    const where = { hostId: HOST_ID, stateDir: join(state.root, 'host') };
    return await addBootedSnapshot({ ...where, snapshots: store.snapshots });
  } finally {
    await store.close();
  }
}
