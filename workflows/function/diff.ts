import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  type ChildWorkflowHandle,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  ParentClosePolicy,
  proxyActivities,
  startChild,
} from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { BegunAttempt } from '../../model/functions/run-saga.ts';
import { DIFF_SIDES, type DiffSide, diffSnapshotId, type RunDiff } from '../../model/functions/traces.ts';
import {
  EPHEMERAL_SNAPSHOT_WORKFLOW,
  ephemeralSnapshotWorkflowIdOf,
  RELEASED,
} from '../../model/snapshots/snapshot.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import type { ephemeralSnapshot } from '../snapshot/ephemeral-snapshot.ts';
import { taskSteps } from '../source/task-life.ts';
import { saidOf } from './attempt-said.ts';
import type { RunLife } from './run-life.ts';

/** What takes longer is given up: neither the start of a process nor the end of its sandbox waits for it any more. */
const BOUNDED = {
  scheduleToCloseTimeout: '5m',
  startToCloseTimeout: '3m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '200ms', maximumInterval: '5s', maximumAttempts: 5 },
} as const;
const { takeDiffSide } = proxyActivities<ControlActivities>(BOUNDED);
/** Longer than any run: who takes the snapshots away has been told by then. Milliseconds. */
const LONGEST_MS = 34 * 86_400_000;

/** What a process changes: snapshots before and after it, what differs, and no trace of them when its sandbox is gone. */
export class Diffing {
  readonly #keepers = new Map<DiffSide, ChildWorkflowHandle<typeof ephemeralSnapshot>>();
  #failure: RunDiff['failure'] = null;

  constructor(
    private readonly life: RunLife,
    private readonly begun: BegunAttempt,
  ) {}

  /** Before its process is started. One that fails is told when that has ended. @throws CancelledFailure */
  async before(): Promise<void> {
    if (this.begun.diffs) await this.#take('before');
  }

  /** When it has ended; its sandbox is there still. Never fails. */
  async after(): Promise<void> {
    const said = saidOf(this.begun);
    if (!this.begun.diffs || !(await controlUntilDone.isDiffDue(said))) return;
    await controlUntilDone.settleDiff({ ...said, diff: await this.#compared() });
  }

  /** Its sandbox is gone: so are they, when this returns. */
  async release(): Promise<void> {
    if (!this.begun.diffs) return;
    for (const side of DIFF_SIDES) await this.#release(side);
  }

  async #take(side: DiffSide): Promise<void> {
    try {
      await this.#keep(side);
      await takeDiffSide({ ...saidOf(this.begun), side });
    } catch (error) {
      if (isCancellation(error)) throw error;
      const { code, message } = failureOf(error, 'takeDiffSide');
      this.#failure ??= { code, message: `${side}: ${message}` };
    }
  }

  async #compared(): Promise<RunDiff> {
    await this.#take('after');
    try {
      const { runId, sandboxId } = this.begun;
      const place = await controlUntilDone.diffPlace(saidOf(this.begun));
      if (place && !this.#failure) {
        const { step } = taskSteps(this.life, place.host, { step: BOUNDED, undo: BOUNDED, summary: runId });
        const target = { sandboxId: runId, generation: this.life.generation, runId, attemptId: sandboxId };
        return await step.diffRun(target);
      }
    } catch (error) {
      const { code, message } = failureOf(error, 'diffRun');
      this.#failure = { code, message };
    }
    const failure = this.#failure ?? { code: 'sandbox_ended', message: 'its sandbox had ended' };
    return { bytes: null, digest: null, counts: null, failure };
  }

  /** Whoever takes it away is there first. */
  async #keep(side: DiffSide): Promise<void> {
    const place = await controlUntilDone.diffPlace(saidOf(this.begun));
    if (!place) return;
    const snapshotId = diffSnapshotId(this.begun.sandboxId, side);
    try {
      const keeper = await CancellationScope.nonCancellable(() =>
        startChild<typeof ephemeralSnapshot>(EPHEMERAL_SNAPSHOT_WORKFLOW, {
          workflowId: ephemeralSnapshotWorkflowIdOf(snapshotId),
          args: [{ snapshotId, ...place.host, actor: place.actor, withinMs: LONGEST_MS }],
          parentClosePolicy: ParentClosePolicy.ABANDON,
          staticSummary: `${snapshotId} of ${this.begun.sandboxId}, for a run`,
        }),
      );
      this.#keepers.set(side, keeper);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error; // a run that was lost has begun it
    }
  }

  async #release(side: DiffSide): Promise<void> {
    const id = ephemeralSnapshotWorkflowIdOf(diffSnapshotId(this.begun.sandboxId, side));
    const keeper = this.#keepers.get(side);
    try {
      await (keeper ?? getExternalWorkflowHandle(id)).signal<[]>(RELEASED);
      await keeper?.result();
    } catch (error) {
      log.info('a snapshot of a run went by itself', { id, why: String(error) });
    }
  }
}
