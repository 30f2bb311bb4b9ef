import { ApplicationFailure, condition, defineSignal, setHandler, workflowInfo } from '@temporalio/workflow';
import { RUN_CONTINUES } from '../../model/sagas/entity-state.ts';
import { whenCancelled } from './cancellation.ts';

/** Reports whether Temporal suggests continue-as-new: the history is near its limit of events, bytes or updates. */
export function shouldContinueAsNew(): boolean {
  return workflowInfo().continueAsNewSuggested;
}

/** Returns the refusal of a message meant for the next run. */
export function runContinues(): ApplicationFailure {
  const message = 'This run continues as new; send it to the next one.';
  return ApplicationFailure.create({ type: RUN_CONTINUES, message, nonRetryable: true });
}

/**
 * Repeats a turn after pauses, which a signal or the workflow's cancellation ends, until a turn returns null.
 * @param turn gets true when it is the last, after a cancellation.
 * @returns the longest pause, ms; 0: none; null: nothing is left
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
    if (shouldContinueAsNew() && !isCancelled) return continueAsNew();
    if (pauseMs) await condition(() => isWoken || isCancelled, pauseMs);
  }
}
