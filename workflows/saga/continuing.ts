import { ApplicationFailure, CancellationScope, condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import { RUN_CONTINUES } from '../../model/sagas/continued-life.ts';

/**
 * Whether Temporal suggests to continue as new: the run has had most of the events, the bytes or the updates that it may
 * have.
 */
export function shallContinue(): boolean {
  return workflowInfo().continueAsNewSuggested;
}

/** What a message is refused with that is for the next run. */
export function runContinues(): ApplicationFailure {
  const message = 'This run continues as new; send it to the next one.';
  return ApplicationFailure.create({ type: RUN_CONTINUES, message, nonRetryable: true });
}

/**
 * Runs what may take for ever, and does no harm when it is begun anew: it is left off when the run shall continue as new.
 * Somebody who cancels the workflow does not stop it.
 * @param onLeft hears that it is going to be left off
 * @returns what it returned; null when it was left off
 */
export function untilContinued<T>(run: () => Promise<T>, onLeft: () => void = () => {}): Promise<{ value: T } | null> {
  return CancellationScope.nonCancellable(async () => {
    const scope = new CancellationScope();
    let isOver = false;
    const running = scope.run(run).finally(() => {
      isOver = true;
    });
    running.catch(() => undefined); // thrown below
    await condition(() => isOver || shallContinue());
    if (!isOver) {
      onLeft();
      scope.cancel();
    }
    try {
      return { value: await running };
    } catch (error) {
      if (!(scope.consideredCancelled && isCancellation(error))) throw error;
      return null;
    }
  });
}
