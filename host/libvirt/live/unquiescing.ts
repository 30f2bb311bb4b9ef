import { MayflyError } from '../../../model/errors.ts';
import { formatFreeSpace, type HostDisk, hasSpaceToResume } from '../../../model/snapshots/storage.ts';
import { measureDisk } from '../../disk/host-disk.ts';
import type { Domains } from '../client/domains.ts';
import type { Jobs } from '../client/jobs.ts';
import { Freezer } from '../guest/freezer.ts';
import type { GuestAgent } from '../guest/guest-agent.ts';
import type { Attempt } from '../layers/snapshot-folder.ts';
import type { LibvirtTools } from '../tools/tools.ts';

interface UnquiescingDeps {
  domains: Pick<Domains, 'isStoppedByError' | 'bring'>;
  agent: Pick<GuestAgent, 'thaw'>;
  freezer: Pick<Freezer, 'thaw'>;
  jobs: Pick<Jobs, 'stopSnapshot'>;
  /** File system of the sandboxes' disks. */
  disk: () => Promise<HostDisk>;
}

/** Thaws the guest of a save attempt, and first stops a running save of its memory. */
export class Thaw {
  constructor(private readonly deps: UnquiescingDeps) {}

  /** @throws MayflyError guest_unreachable when the state is unknown, host_disk_full when that suspends the guest */
  async thaw(attempt: Attempt | null): Promise<void> {
    if (attempt === null || !(attempt.quiesce || attempt.kind === 'full')) return;
    await this.#resumeSuspended(attempt.sandboxId);
    if (attempt.quiesce) await this.deps.agent.thaw(attempt.sandboxId);
    if (attempt.kind !== 'full') return;
    await this.deps.jobs.stopSnapshot(attempt.sandboxId);
    await this.deps.freezer.thaw(attempt);
  }

  /**
   * Resumes a guest suspended by a full disk. A freeze first writes the guest's dirty pages; if the host's disk is full
   * then, QEMU suspends the guest, and its agent cannot answer until the write is repeated; the storage watch is
   * refused until then.
   */
  async #resumeSuspended(sandboxId: string): Promise<void> {
    const { domains, disk } = this.deps;
    if (!(await domains.isStoppedByError(sandboxId))) return;
    const now = await disk();
    if (!hasSpaceToResume(now)) {
      const why = `${sandboxId} stands still, since a write of its disk failed, and waits for room`;
      throw new MayflyError('host_disk_full', `${why}: ${formatFreeSpace(now)}. Delete snapshots or sandboxes there.`);
    }
    await domains.bring(sandboxId, 'running');
  }
}

export function createThaw({ state, virsh, ...tools }: LibvirtTools): Thaw {
  return new Thaw({ ...tools, freezer: new Freezer(virsh, tools.domains), disk: () => measureDisk(state.root) });
}
