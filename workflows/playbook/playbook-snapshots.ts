import { ParentClosePolicy, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { PlaybookSnapshot } from '../../model/playbook/playbook-saga.ts';
import { refusal } from '../saga/failure.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { SnapshotReapers } from '../snapshot/snapshot-keepers.ts';
import type { PlaybookTask } from './playbook-life.ts';

const { takePlaybookSnapshot } = proxyActivities<ControlActivities>(PROFILE.work(30 * MINUTE_MS));
/** Upper bound on a playbook's duration, after which its snapshots are removed. Milliseconds. */
const LONGEST_MS = 240 * MINUTE_MS;

/** Snapshots that a playbook compares. */
export class PlaybookSnapshots {
  /** Workflows that remove the snapshots; a cancel by the parent, or its termination, releases them. */
  readonly #keepers = new SnapshotReapers(ParentClosePolicy.REQUEST_CANCEL);

  constructor(private readonly life: PlaybookTask) {}

  /**
   * @throws ApplicationFailure snapshot_failed, sandbox_busy and the like; no_host: it is on another host than the
   * sandbox
   */
  async take(which: PlaybookSnapshot, sandboxId: string): Promise<string> {
    const { snapshots, host, actor } = this.life.input;
    const snapshotId = snapshots[which];
    await this.life.step('takeSnapshot', async () => {
      const input = { snapshotId, ...host, actor, withinMs: LONGEST_MS };
      if (!(await this.#keepers.keep(input, `${snapshotId} of ${sandboxId}, for a playbook`)))
        throw refusal('playbook_failed', `${snapshotId} was begun before: the workflow that needs it was reset.`);
      const { hostId } = await takePlaybookSnapshot({ sandboxId, snapshotId, actor });
      if (hostId !== host.hostId)
        throw refusal('no_host', `${sandboxId} is on ${hostId}: only ${host.hostId} can compare it.`);
    });
    return snapshotId;
  }

  /** Releases the snapshots. Returns when they are deleted. */
  async release(): Promise<void> {
    const { snapshots } = this.life.input;
    await Promise.all(Object.values(snapshots).map((id) => this.#keepers.release(id)));
  }
}
