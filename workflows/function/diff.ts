import { isCancellation, ParentClosePolicy, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { RunDiff } from '../../model/functions/run.ts';
import type { StartedAttempt } from '../../model/functions/run-saga.ts';
import { DIFF_STATES, type DiffSide, deriveDiffSnapshotId } from '../../model/functions/traces.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { SnapshotReapers } from '../snapshot/snapshot-keepers.ts';
import { taskSteps } from '../source/task-life.ts';
import { attemptRef, type RunState } from './run-life.ts';

/** Profile of bounded work: neither the start of a process nor the end of its sandbox waits longer. */
const BOUNDED = PROFILE.work(3 * MINUTE_MS, { totalMs: 5 * MINUTE_MS });
const { takeDiffSide } = proxyActivities<ControlActivities>(BOUNDED);
/** Upper bound on a run's duration, after which the snapshots are removed in any case. Milliseconds. */
const LONGEST_MS = 34 * 86_400_000;

/** Diff of a run: snapshots before and after its process, their comparison, and their removal with the sandbox. */
export class DiffRecorder {
  readonly #keepers = new SnapshotReapers(ParentClosePolicy.ABANDON);
  #failure: RunDiff['failure'] = null;

  constructor(
    private readonly life: RunState,
    private readonly begun: StartedAttempt,
  ) {}

  /** Takes the snapshot before the process starts. A failure is reported after its end. @throws CancelledFailure */
  async before(): Promise<void> {
    if (this.begun.diffs) await this.#capture('before');
  }

  /** Records the diff after the process, while its sandbox is present. Never fails. */
  async after(): Promise<void> {
    const ref = attemptRef(this.begun);
    if (!this.begun.diffs || !(await controlUntilDone.isDiffDue(ref))) return;
    await controlUntilDone.settleDiff({ ...ref, diff: await this.#compare() });
  }

  /** Removes the snapshots once the sandbox is destroyed; returns when they are deleted. */
  async release(): Promise<void> {
    if (!this.begun.diffs) return;
    for (const side of DIFF_STATES) await this.#keepers.release(deriveDiffSnapshotId(this.begun.sandboxId, side));
  }

  async #capture(side: DiffSide): Promise<void> {
    try {
      await this.#ensureKeeper(side);
      await takeDiffSide({ ...attemptRef(this.begun), side });
    } catch (error) {
      if (isCancellation(error)) throw error;
      const { code, message } = failureOf(error, 'takeDiffSide');
      this.#failure ??= { code, message: `${side}: ${message}` };
    }
  }

  async #compare(): Promise<RunDiff> {
    await this.#capture('after');
    try {
      const { runId, sandboxId } = this.begun;
      const location = await controlUntilDone.diffPlace(attemptRef(this.begun));
      if (location && !this.#failure) {
        const target = { sandboxId: runId, runId, attemptId: sandboxId };
        return await taskSteps(this.life, location.host, target, { ...BOUNDED, summary: runId }).diffRun();
      }
    } catch (error) {
      const { code, message } = failureOf(error, 'diffRun');
      this.#failure = { code, message };
    }
    const failure = this.#failure ?? { code: 'sandbox_ended', message: 'its sandbox had ended' };
    return { bytes: null, digest: null, counts: null, failure };
  }

  /** Starts the workflow that removes the snapshot, before the snapshot is taken. */
  async #ensureKeeper(side: DiffSide): Promise<void> {
    const place = await controlUntilDone.diffPlace(attemptRef(this.begun));
    if (!place) return;
    const { sandboxId } = this.begun;
    const snapshotId = deriveDiffSnapshotId(sandboxId, side);
    const input = { snapshotId, ...place.host, actor: place.actor, withinMs: LONGEST_MS };
    await this.#keepers.keep(input, `${snapshotId} of ${sandboxId}, for a run`);
  }
}
