import { heartbeat } from '@temporalio/activity';
import { type HostProposals, isLive, proposalsOf } from '../../model/host.ts';
import type { ForgetHostInput } from '../../model/sagas/forget-host.ts';
import { isFinal, LIVING_STATES } from '../../model/sandbox/sandbox.ts';
import type { ReconcileDeps } from './sandboxes.ts';

type HostOf = Pick<ForgetHostInput, 'hostId'>;

/** Hosts, as a reconciliation sees them, and how one is given up. */
export function createHostReconcileActivities({ store, reconciliation }: ReconcileDeps) {
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

    /** A host that was forgotten, and on which nothing is left that belongs to nobody, may be given sandboxes again. */
    async readmitHost({ hostId }: HostOf): Promise<void> {
      const host = await store.hosts.get(hostId);
      if (host?.forgottenAt) await store.hosts.order(hostId, { forgottenAt: null });
    },

    /** Nothing is placed there from here on, and what it takes counts in no quota. */
    async giveHostUp({ hostId, at }: ForgetHostInput): Promise<void> {
      await store.hosts.order(hostId, { forgottenAt: at });
      await store.measuredDisks.describe({ hostId, measuredAt: at, sandboxes: [] });
    },

    async sandboxesOn({ hostId }: HostOf): Promise<{ sandboxIds: string[] }> {
      const alive = await store.sandboxes.all(LIVING_STATES);
      return {
        sandboxIds: alive.filter((record) => record.hostId === hostId).map(({ id }) => id),
      };
    },

    /** Has each end without the host. Again, it changes nothing. */
    async endUnproved({ hostId, actor, sandboxIds }: ForgetHostInput & { sandboxIds: string[] }): Promise<void> {
      for (const id of sandboxIds) {
        heartbeat();
        const record = await store.sandboxes.get(id);
        if (!record || isFinal(record.state)) continue;
        const { spec, createdBy, createdAt: requestedAt } = record;
        const input = { id, spec, createdBy, requestedAt, begin: 'takeOver', hostIds: [hostId] } as const;
        await reconciliation.leaveHost({ ...input, hostIds: [hostId] }, { hostId, actor });
      }
    },
  };
}

export type HostReconcileActivities = ReturnType<typeof createHostReconcileActivities>;
