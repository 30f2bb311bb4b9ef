import { type HostProposals, isLive, proposalsOf } from '../../model/host.ts';
import type { Store } from '../../store/connect.ts';

/** Hosts, as a reconciliation sees them. */
export function createHostReconcileActivities({ store }: { store: Store }) {
  return {
    /** All that may have something of a sandbox. */
    async knownHosts(): Promise<HostProposals> {
      return proposalsOf(await store.hosts.list());
    },

    /** Those whose workers were heard of lately. */
    async hostsToReconcile(): Promise<HostProposals> {
      const hosts = await store.hosts.list();
      return proposalsOf(hosts.filter((host) => isLive(host)));
    },
  };
}

export type HostReconcileActivities = ReturnType<typeof createHostReconcileActivities>;
