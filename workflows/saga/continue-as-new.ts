import { ApplicationFailure, condition, defineSignal, setHandler, workflowInfo } from '@temporalio/workflow';
import { RUN_CONTINUES } from '../../model/sagas/entity-state.ts';
import { whenCancelled } from './cancellation.ts';

/**
 * Whether Temporal suggests to continue as new: the run has had most of the events, the bytes or the updates that it may
 * have.
 */
export function shallContinue(): boolean {
  return workflowInfo().continueAsNewSuggested;
}

/** Refusal of a message that the next run is to take. */
export function runContinues(): ApplicationFailure {
  const message = 'This run continues as new; send it to the next one.';
  return ApplicationFailure.create({ type: RUN_CONTINUES, message, nonRetryable: true });
}

/**
 * Repeats a turn after each pause, which a signal or a cancellation of the workflow ends, until nothing is left to wait for.
 * @param turn told whether it is the last, since the workflow is cancelled. @returns the longest pause, ms; 0: none; null: nothing is left
 */
export async function repeatTurns(
  signal: string,
  turn: (isLast: boolean) => Promise<number | null>,
  continueAsNew: () => Promise<never>,
): Promise<void> {
  let isWoken = false;
  let isCancelled = false;
  setHandler(defineSignal(signal), () => {
    isWoken = true;
  });
  whenCancelled(() => {
    isCancelled = true;
  });
  for (;;) {
    isWoken = false;
    const isLast = isCancelled;
    const pauseMs = await turn(isLast);
    if (isLast || (pauseMs === null && !isWoken)) return;
    if (shallContinue() && !isCancelled) return continueAsNew();
    if (pauseMs) await condition(() => isWoken || isCancelled, pauseMs);
  }
}
