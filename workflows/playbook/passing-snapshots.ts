import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  type ChildWorkflowHandle,
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  proxyActivities,
  startChild,
} from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { PlaybookSnapshot } from '../../model/playbook/playbook-saga.ts';
import {
  EPHEMERAL_SNAPSHOT_WORKFLOW,
  ephemeralSnapshotWorkflowIdOf,
  RELEASED,
} from '../../model/snapshots/snapshot.ts';
import { refusal } from '../saga/failure.ts';
import type { ephemeralSnapshot } from '../snapshot/ephemeral-snapshot.ts';
import type { PlaybookLife } from './playbook-life.ts';

const { takePlaybookSnapshot } = proxyActivities<ControlActivities>({
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '200ms', maximumInterval: '5s', maximumAttempts: 10 },
});
/** Longer than a playbook: who takes them away has been told by then. Milliseconds. */
const LONGEST_MS = 14_400_000;

/** The snapshots that a playbook compares: each has a workflow of its own, begun before it is taken, that takes it away. */
export class PassingSnapshots {
  readonly #keepers: ChildWorkflowHandle<typeof ephemeralSnapshot>[] = [];
  /** Keepers of these snapshots were begun before the workflow was reset. */
  #isKeptByOthers = false;

  constructor(private readonly life: PlaybookLife) {}

  /** @throws ApplicationFailure snapshot_failed, sandbox_busy and its kin; no_host: it is on another than the sandbox */
  async take(which: PlaybookSnapshot, sandboxId: string): Promise<string> {
    const { snapshots, host, actor } = this.life.input;
    const snapshotId = snapshots[which];
    await this.life.step('takeSnapshot', async () => {
      await this.#keep(snapshotId, sandboxId);
      const { hostId } = await takePlaybookSnapshot({ sandboxId, snapshotId, actor });
      if (hostId !== host.hostId)
        throw refusal('no_host', `${sandboxId} is on ${hostId}: only ${host.hostId} can compare it.`);
    });
    return snapshotId;
  }

  async #keep(snapshotId: string, sandboxId: string): Promise<void> {
    const { host, actor } = this.life.input;
    try {
      const keeper = await CancellationScope.nonCancellable(() =>
        startChild<typeof ephemeralSnapshot>(EPHEMERAL_SNAPSHOT_WORKFLOW, {
          workflowId: ephemeralSnapshotWorkflowIdOf(snapshotId),
          args: [{ snapshotId, ...host, actor, withinMs: LONGEST_MS }],
          parentClosePolicy: ParentClosePolicy.ABANDON,
          staticSummary: `${snapshotId} of ${sandboxId}, for a playbook`,
        }),
      );
      this.#keepers.push(keeper);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      this.#isKeptByOthers = true;
      throw refusal('playbook_failed', `${snapshotId} was begun before: the workflow that needs it was reset.`);
    }
  }

  /** Returns when they are gone; those of before a reset are told to go. */
  async release(): Promise<void> {
    if (this.#isKeptByOthers) {
      for (const id of Object.values(this.life.input.snapshots)) {
        const keeper = getExternalWorkflowHandle(ephemeralSnapshotWorkflowIdOf(id));
        await keeper.signal<[]>(RELEASED).catch(() => undefined); // it was never begun
      }
    }
    for (const keeper of this.#keepers.splice(0)) {
      try {
        await keeper.signal<[]>(RELEASED);
        await keeper.result();
      } catch (error) {
        log.info('a snapshot of a playbook went by itself', { why: String(error) });
      }
    }
  }
}
