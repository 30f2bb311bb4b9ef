import { heartbeat } from '@temporalio/activity';
import { type CandidateHosts, isLive, toCandidateHosts } from '../../model/host.ts';
import type { DecommissionHostInput } from '../../model/sagas/forget-host.ts';
import type { HostDecommissioned } from '../../model/sagas/messages.ts';
import { toAdoptionInput } from '../../model/sagas/reconcile.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal, OPEN_STATES } from '../../model/sandbox/sandbox-state.ts';
import type { SagaDeps } from '../step/saga-deps.ts';

type HostOf = Pick<DecommissionHostInput, 'hostId'>;

export function createHostReconcileActivities({ store, reconciliation }: SagaDeps) {
  /** Signals the sandbox's workflow; without one, another adopts it. */
  async function detach(record: SandboxRecord, forgotten: HostDecommissioned): Promise<void> {
    heartbeat();
    await reconciliation.sandboxes.leaveHost(toAdoptionInput(record, 'takeOver'), forgotten);
  }

  return {
    /** Returns all hosts that may have a part of a sandbox. */
    async knownHosts(): Promise<CandidateHosts> {
      return toCandidateHosts(await store.hosts.list());
    },

    /** Returns the hosts whose workers sent a recent report. */
    async hostsToReconcile(): Promise<CandidateHosts> {
      const hosts = await store.hosts.list();
      return toCandidateHosts(hosts.filter((host) => isLive(host)));
    },

    /** Readmits a decommissioned host for placement, once it is free of orphans. */
    async readmitHost({ hostId }: HostOf): Promise<void> {
      const host = await store.hosts.get(hostId);
      if (host?.forgottenAt) await store.hosts.order(hostId, { forgottenAt: null });
    },

    /** Decommissions a host: no placement, its disks count in no quota, and it may come back with another key. */
    async giveHostUp({ hostId, at }: DecommissionHostInput): Promise<void> {
      await store.hosts.order(hostId, { forgottenAt: at });
      await store.measuredDisks.describe({ hostId, measuredAt: at, sandboxes: [] });
    },

    /** Detaches sandboxes that tried the host and live elsewhere. Idempotent. */
    async leaveAskedHost({ hostId, actor }: DecommissionHostInput): Promise<void> {
      for (const record of await store.sandboxes.all(OPEN_STATES)) {
        const hasAsked = record.askedHosts.some((asked) => asked.hostId === hostId);
        if (hasAsked && record.hostId !== hostId) await detach(record, { hostId, actor });
      }
    },

    async sandboxesOn({ hostId }: HostOf): Promise<{ sandboxIds: string[] }> {
      const alive = await store.sandboxes.all(OPEN_STATES);
      return {
        sandboxIds: alive.filter((record) => record.hostId === hostId).map(({ id }) => id),
      };
    },

    /** Ends sandboxes without their host. Idempotent. */
    async endUnproved({ hostId, actor, sandboxIds }: DecommissionHostInput & { sandboxIds: string[] }): Promise<void> {
      for (const id of sandboxIds) {
        const record = await store.sandboxes.get(id);
        if (record && !isFinal(record.state)) await detach(record, { hostId, actor });
      }
    },
  };
}
