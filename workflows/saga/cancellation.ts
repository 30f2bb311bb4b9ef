import { CancellationScope, isCancellation, type WorkflowInterceptors } from '@temporalio/workflow';
import { refusal } from './failure.ts';

/**
 * Shields each workflow and its handlers from a cancellation of the workflow, in which every wait of theirs would throw. A
 * workflow that does not say {@link whenCancelled} what it does instead goes on to its end.
 */
export function interceptors(): WorkflowInterceptors {
  return {
    inbound: [
      {
        execute: (input, next) => CancellationScope.nonCancellable(() => next(input)),
        handleSignal: (input, next) => CancellationScope.nonCancellable(() => next(input)),
        handleUpdate: (input, next) => CancellationScope.nonCancellable(() => next(input)),
      },
    ],
  };
}

/** Calls `end` when somebody cancels the workflow in Temporal. Once, also when that came before this call. */
export function whenCancelled(end: () => void): void {
  let root = CancellationScope.current();
  while (root.parent) root = root.parent;
  root.cancelRequested.catch(end);
}

/**
 * Runs work that a cancellation of the workflow cuts short.
 * @throws ApplicationFailure workflow_cancelled
 */
export async function untilCancelled<T>(work: () => Promise<T>): Promise<T> {
  const scope = new CancellationScope();
  let isCancelled = false;
  whenCancelled(() => {
    isCancelled = true;
    scope.cancel();
  });
  try {
    return await scope.run(work);
  } catch (error) {
    if (!isCancelled || !isCancellation(error)) throw error;
    throw refusal('workflow_cancelled', 'Its workflow was cancelled in Temporal.');
  }
}
