import { join } from 'node:path';
import { startPrivateLibvirtd } from '../../host/libvirt/network/private-libvirtd.ts';
import { connectStore } from '../../store/connect.ts';
import { addBootedSnapshot } from './booted-snapshot.ts';
import { proveCleanSlate } from './clean-slate.ts';
import { HOST_ID, ServedMayfly } from './served.ts';
import { useOpened } from './use-opened.ts';

/**
 * Starts a {@link ServedMayfly} on its own libvirtd for the tests of a file. @param hostEnv of its host worker @param
 * allEnv of each process
 */
export function useServedOnLibvirt(
  hostEnv: NodeJS.ProcessEnv = {},
  allEnv: NodeJS.ProcessEnv = {},
): () => ServedMayfly {
  return useOpened(
    async () => {
      await proveCleanSlate();
      const libvirt = { MAYFLY_HOST: 'libvirt', MAYFLY_LIBVIRT_URI: 'private' };
      return ServedMayfly.start({ ...libvirt, ...hostEnv }, allEnv);
    },
    async (mayfly) => {
      await mayfly.host?.end('SIGTERM');
      const libvirtd = await startPrivateLibvirtd(join(mayfly.state.root, 'host', 'libvirt'));
      await libvirtd.stop({ machines: true });
      await mayfly.stop();
    },
  );
}

/** Returns a snapshot with memory, for sandboxes whose boot is not under test. */
export async function bootedSnapshot({ state, storeUri }: ServedMayfly): Promise<string> {
  const store = await connectStore(storeUri);
  try {
    const where = { hostId: HOST_ID, stateDir: join(state.root, 'host') };
    return await addBootedSnapshot({ ...where, snapshots: store.snapshots });
  } finally {
    await store.close();
  }
}
