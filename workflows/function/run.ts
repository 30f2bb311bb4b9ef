import {
  ApplicationFailure,
  CancellationScope,
  condition,
  proxyActivities,
  sleep,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { ErrorCode } from '../../model/errors.ts';
import {
  dispatcherWorkflowId,
  type RunInput,
  type RunNextStep,
  type StartedAttempt,
  WAKE_DISPATCHER,
} from '../../model/functions/run-saga.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import { WAKE_SCHEDULE } from '../../model/schedules/schedule-saga.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { outcomeAttribute } from '../saga/messages.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { trySignal } from '../saga/subscription.ts';
import { type AttemptResult, loadAttemptSandbox, notStarted, runAttempt } from './attempt.ts';
import { DiffRecorder } from './diff.ts';
import { attemptRef, RunState } from './run-life.ts';

/** Profile of a disk snapshot, which takes seconds. After a timeout the sandbox is destroyed without one. */
const { keepAttempt } = proxyActivities<ControlActivities>(PROFILE.work(5 * MINUTE_MS, { totalMs: 10 * MINUTE_MS }));

/** Pauses between two polls of a run that waits for its slots without a signal. Milliseconds. */
const SLOTS_MS = { first: 15_000, most: 600_000, factor: 1.5 };

/**
 * Runs a function once, from its admission until its sandbox is removed:
 *
 *   attempt (attempt.ts) → its end is recorded → its sandbox is destroyed, with proof → its slots are free
 *                               └→ snapshot retained, if its function wants it    └→ another attempt, slots retained
 *
 * Cleanup follows every attempt, cancelled or not. A run that finds no capacity returns to its queue. A new workflow
 * resumes a lost one from its record. A run whose record was lost with a restored store also ends here: `mayfly doctor`
 * lists it.
 */
export async function run(input: RunInput): Promise<void> {
  const { runId } = input;
  const life = new RunState(input);
  for (;;) {
    const begun = await controlUntilDone.beginAttempt({ runId });
    if (!begun) {
      await life.cancelling;
      return wakeSchedule(input);
    }
    if ('lacksSlot' in begun) {
      await awaitConcurrencySlots(life);
      continue;
    }
    life.cancelledBy ??= begun.cancelledBy ?? null;
    const next = await CancellationScope.nonCancellable(() => attempted(life, begun));
    if (next.step === 'lost') throw lostRecord(runId);
    if (next.step === 'end' && next.outcome) upsertSearchAttributes([{ key: outcomeAttribute, value: next.outcome }]);
    if (next.step !== 'retry') break;
    await life.pause(next.pauseMs);
  }
  await life.cancelling;
  const { project, function: name } = input;
  await trySignal(dispatcherWorkflowId({ project, name }), WAKE_DISPATCHER);
  await wakeSchedule(input);
}

async function attempted(life: RunState, found: StartedAttempt): Promise<RunNextStep> {
  const made = await loadAttemptSandbox(life, found);
  const { begun } = made;
  const diffing = new DiffRecorder(life, begun);
  if (!begun.hasEnded) {
    const ended: AttemptResult = 'sandbox' in made ? await runAttempt(life, made, diffing) : notStarted(made.refusal);
    await controlUntilDone.endAttempt({ ...attemptRef(begun), ...ended, event: life.event('run.ended') });
  }
  if ('sandbox' in made) {
    await diffing.after();
    const retentionFailure = begun.keeps ? await retainDisks(begun) : null;
    await life.retryUntilDone('destroySandbox', () => made.sandbox.destroy());
    // after the sandbox's end, no one can still finish a snapshot
    if (begun.keeps) await controlUntilDone.settleKept({ ...attemptRef(begun), failure: retentionFailure });
    await diffing.release();
  }
  return life.retryUntilDone('leaveAttempt', () =>
    controlUntilDone.leaveAttempt({ ...attemptRef(begun), event: life.event('run.cleaned') }),
  );
}

/**
 * Snapshots the disks of a failed attempt, without effect on the run's outcome.
 * @returns the failure; null: it is kept
 */
async function retainDisks(begun: StartedAttempt): Promise<RunFailure | null> {
  try {
    return await keepAttempt(attemptRef(begun));
  } catch (error) {
    const { code, message } = failureOf(error, 'keepAttempt');
    return { code, message };
  }
}

/** Waits in the function's queue until the run has reacquired its slots, or is cancelled. */
async function awaitConcurrencySlots(life: RunState): Promise<void> {
  const { runId } = life.input;
  for (let pauseMs = SLOTS_MS.first; ; pauseMs = Math.min(SLOTS_MS.most, pauseMs * SLOTS_MS.factor)) {
    const { looks } = life;
    if (await controlUntilDone.hasSlots({ runId })) return;
    if (life.cancelledBy !== null) return sleep('1s'); // the record has the cancel before the signal arrives
    await condition(() => life.looks !== looks || life.cancelledBy !== null, pauseMs);
  }
}

/** Returns the failure of a run whose event and output are lost. */
function lostRecord(runId: string): ApplicationFailure {
  const why = `The store has no record of ${runId} any more; nothing of its sandbox is left`;
  return ApplicationFailure.nonRetryable(why, 'run_not_found' satisfies ErrorCode);
}

/** Wakes the schedule of the run, which also polls without a signal. */
async function wakeSchedule({ scheduledBy }: RunInput): Promise<void> {
  if (scheduledBy !== undefined) await trySignal(scheduledBy, WAKE_SCHEDULE);
}
