import {
  ApplicationFailure,
  condition,
  continueAsNew,
  defineSignal,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { RUN_OVER, type ScheduledInput } from '../../model/schedules/schedule-saga.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { shallContinue } from '../saga/continuing.ts';
import { controlUntilDone } from '../saga/control.ts';

const runOver = defineSignal(RUN_OVER);

/** How long it waits to be told that the run is over; what ends without a workflow tells nobody. Milliseconds. */
const POLL_MS = { first: 1_000, most: 15_000, factor: 1.5 };

/**
 * One time of a schedule, from when Temporal fires until nothing of its run is left:
 *
 *   its event is accepted → its run waits, runs, ends → nothing of it is left
 *
 * So to Temporal a time overlaps another when their runs do. Temporal cancels this for a time that cancels others: then the
 * run is cancelled, and this ends when the proof is there.
 */
export async function scheduled(input: ScheduledInput): Promise<void> {
  const life = { isTold: false, isOverlapped: input.isOverlapped ?? false };
  setHandler(runOver, () => {
    life.isTold = true;
  });
  whenCancelled(() => {
    life.isOverlapped = true;
  });
  await accepted(input, life);
}

async function accepted(input: ScheduledInput, life: { isTold: boolean; isOverlapped: boolean }): Promise<void> {
  const { project, name } = input;
  const { workflowId } = workflowInfo();
  const runId = input.runId ?? (await controlUntilDone.acceptScheduled({ project, name, workflowId })).runId;
  for (let pauseMs = POLL_MS.first; runId !== null; pauseMs = Math.min(POLL_MS.most, pauseMs * POLL_MS.factor)) {
    life.isTold = false;
    const wasOverlapped = life.isOverlapped;
    const run = await controlUntilDone.followScheduled({
      project,
      name,
      workflowId,
      runId,
      isOverlapped: wasOverlapped,
    });
    if (run.isPausing) throw ApplicationFailure.nonRetryable(`${runId} did not succeed`, 'run_failed');
    if (run.isOver) return;
    if (shallContinue()) {
      return continueAsNew<typeof scheduled>({ ...input, runId, isOverlapped: life.isOverlapped });
    }
    await condition(() => life.isTold || life.isOverlapped !== wasOverlapped, pauseMs);
  }
}
