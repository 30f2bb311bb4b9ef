import { isLive } from '../../model/host.ts';
import type { Store } from '../../store/connect.ts';

/** Hosts, as a reconciliation sees them. */
export function createHostReconcileActivities({ store }: { store: Store }) {
  return {
    /** All that may have something of a sandbox. */
    async knownHosts(): Promise<{ hostIds: string[] }> {
      return { hostIds: (await store.hosts.list()).map(({ id }) => id) };
    },

    /** Those whose workers were heard of lately. */
    async hostsToReconcile(): Promise<{ hostIds: string[] }> {
      const hosts = await store.hosts.list();
      return { hostIds: hosts.filter((host) => isLive(host)).map(({ id }) => id) };
    },
  };
}

export type HostReconcileActivities = ReturnType<typeof createHostReconcileActivities>;
