import { isCancellation, ParentClosePolicy, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { RunDiff } from '../../model/functions/run.ts';
import type { BegunAttempt } from '../../model/functions/run-saga.ts';
import { DIFF_SIDES, type DiffSide, diffSnapshotId } from '../../model/functions/traces.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { SnapshotKeepers } from '../snapshot/snapshot-keepers.ts';
import { taskSteps } from '../source/task-life.ts';
import { type RunLife, saidOf } from './run-life.ts';

/** Profile of bounded work: neither the start of a process nor the end of its sandbox waits longer. */
const BOUNDED = PROFILE.work(3 * MINUTE_MS, { totalMs: 5 * MINUTE_MS });
const { takeDiffSide } = proxyActivities<ControlActivities>(BOUNDED);
/** Upper bound on a run's duration, after which the snapshots are removed in any case. Milliseconds. */
const LONGEST_MS = 34 * 86_400_000;

/** Diff of a run: snapshots before and after its process, their comparison, and their removal with the sandbox. */
export class Diffing {
  readonly #keepers = new SnapshotKeepers(ParentClosePolicy.ABANDON);
  #failure: RunDiff['failure'] = null;

  constructor(
    private readonly life: RunLife,
    private readonly begun: BegunAttempt,
  ) {}

  /** Takes the snapshot before the process starts. A failure is reported after its end. @throws CancelledFailure */
  async before(): Promise<void> {
    if (this.begun.diffs) await this.#take('before');
  }

  /** Records the diff after the process, while its sandbox is present. Never fails. */
  async after(): Promise<void> {
    const said = saidOf(this.begun);
    if (!this.begun.diffs || !(await controlUntilDone.isDiffDue(said))) return;
    await controlUntilDone.settleDiff({ ...said, diff: await this.#compared() });
  }

  /** Removes the snapshots once the sandbox is destroyed; returns when they are deleted. */
  async release(): Promise<void> {
    if (!this.begun.diffs) return;
    for (const side of DIFF_SIDES) await this.#keepers.release(diffSnapshotId(this.begun.sandboxId, side));
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
        const target = { sandboxId: runId, runId, attemptId: sandboxId };
        return await taskSteps(this.life, place.host, target, { ...BOUNDED, summary: runId }).diffRun();
      }
    } catch (error) {
      const { code, message } = failureOf(error, 'diffRun');
      this.#failure = { code, message };
    }
    const failure = this.#failure ?? { code: 'sandbox_ended', message: 'its sandbox had ended' };
    return { bytes: null, digest: null, counts: null, failure };
  }

  /** Starts the workflow that removes the snapshot, before the snapshot is taken. */
  async #keep(side: DiffSide): Promise<void> {
    const place = await controlUntilDone.diffPlace(saidOf(this.begun));
    if (!place) return;
    const { sandboxId } = this.begun;
    const snapshotId = diffSnapshotId(sandboxId, side);
    const input = { snapshotId, ...place.host, actor: place.actor, withinMs: LONGEST_MS };
    await this.#keepers.keep(input, `${snapshotId} of ${sandboxId}, for a run`);
  }
}
