import { ParentClosePolicy, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { PlaybookSnapshot } from '../../model/playbook/playbook-saga.ts';
import { refusal } from '../saga/failure.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { SnapshotKeepers } from '../snapshot/snapshot-keepers.ts';
import type { PlaybookLife } from './playbook-life.ts';

const { takePlaybookSnapshot } = proxyActivities<ControlActivities>(PROFILE.work(30 * MINUTE_MS));
/** Longer than a playbook: its snapshots are released by then. Milliseconds. */
const LONGEST_MS = 240 * MINUTE_MS;

/** The snapshots that a playbook compares. */
export class PlaybookSnapshots {
  /** A cancel releases them, also when the playbook is terminated. */
  readonly #keepers = new SnapshotKeepers(ParentClosePolicy.REQUEST_CANCEL);

  constructor(private readonly life: PlaybookLife) {}

  /** @throws ApplicationFailure snapshot_failed, sandbox_busy and its kin; no_host: it is on another than the sandbox */
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

  /** Returns when they are gone. */
  async release(): Promise<void> {
    const { snapshots } = this.life.input;
    await Promise.all(Object.values(snapshots).map((id) => this.#keepers.release(id)));
  }
}
