import { isMayflyError, MayflyError } from '../../model/errors.ts';
import {
  type CandidateHosts,
  type HostRecord,
  type HostRef,
  isSameHost,
  toCandidateHosts,
  toHostRef,
} from '../../model/host.ts';
import type { SandboxSpec } from '../../model/sandbox/sandbox.ts';
import { selectHostsWithSameContent } from '../../model/source-content.ts';
import type { Store } from '../../store/connect.ts';
import { liveHosts, requireHolding } from '../pool/live-hosts.ts';
import type { Preemption } from '../pool/preemption.ts';
import { readySnapshot } from '../snapshot/snapshot-record.ts';
import type { StorageAdmission } from '../snapshot/storage-admission.ts';
import { readyCapture } from '../source/capture-record.ts';

interface Proposal {
  spec: SandboxSpec;
  sandboxId: string;
  apiKeyId: string;
}

interface PlacementDeps {
  store: Store;
  admission: StorageAdmission;
  preemption: Preemption;
}

/** Activities of placement, which proposes hosts; the host itself accepts or refuses. */
export function createPlacementActivities({ store, admission, preemption }: PlacementDeps) {
  /** @throws MayflyError quota_exceeded when no pool member can be evicted */
  async function admit(sandboxId: string, apiKeyId: string): Promise<void> {
    for (let count = 1; ; count *= 2) {
      try {
        return await admission.sandbox(sandboxId, apiKeyId);
      } catch (error) {
        if (!isMayflyError(error, 'quota_exceeded')) throw error;
        const members = await admission.membersInTheWay(sandboxId, apiKeyId);
        const { code } = error;
        if (!(await preemption.evict(members, count, { code }))) throw error;
      }
    }
  }

  return {
    /**
     * Proposes the live hosts with the source, most free memory first; for a snapshot or capture, only its host.
     * @throws MayflyError no_host, source_not_found, snapshot_not_found, snapshot_not_ready, capture_not_found,
     * capture_not_ready,
     *   source_differs, quota_exceeded
     */
    async proposeHosts({ spec, sandboxId, apiKeyId }: Proposal): Promise<CandidateHosts> {
      await admit(sandboxId, apiKeyId);
      const live = await liveHosts(store);
      if (spec.snapshotId) {
        const snapshot = await readySnapshot(store, spec.snapshotId);
        return toCandidateHosts(checkedLive(snapshot, `The snapshot ${snapshot.id}`, live));
      }
      if (spec.captureId) {
        const capture = await readyCapture(store, spec.captureId);
        return toCandidateHosts(checkedLive(capture, `The capture ${capture.id}`, live));
      }
      return selectHostsWithSameContent(requireHolding(live, spec.source), spec.source);
    },
  };
}

/** @throws MayflyError no_host */
function checkedLive(wanted: HostRef, what: string, live: HostRecord[]): HostRecord[] {
  const found = live.filter((host) => isSameHost(toHostRef(host), wanted));
  if (found.length > 0) return found;
  throw new MayflyError('no_host', `${what} is on ${wanted.hostId}, whose worker does not run.`);
}
