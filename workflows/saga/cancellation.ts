import { CancellationScope, condition, isCancellation, type WorkflowInterceptors } from '@temporalio/workflow';
import { refusal } from './failure.ts';

/**
 * Shields each workflow and its handlers from a cancellation of the workflow, which would make all their waits throw. A
 * workflow without {@link whenCancelled} runs to its end.
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

/** Calls `end` once when the workflow is cancelled in Temporal, also when that was before this call. */
export function whenCancelled(end: () => void): void {
  let root = CancellationScope.current();
  while (root.parent) root = root.parent;
  root.cancelRequested.catch(end);
}

/** Runs work until the workflow is cancelled. @throws ApplicationFailure workflow_cancelled */
export async function untilCancelled<T>(work: () => Promise<T>): Promise<T> {
  let isCancelled = false;
  whenCancelled(() => {
    isCancelled = true;
  });
  const done = await runUntil(() => isCancelled, work);
  if (done) return done.value;
  throw refusal('workflow_cancelled', 'Its workflow was cancelled in Temporal.');
}

/**
 * Runs work in a cancellation scope, which is cancelled as soon as a condition holds.
 * @returns the result of the work; null when it was cancelled for that
 * @throws CancelledFailure when the surrounding scope is cancelled
 */
export async function runUntil<T>(isOver: () => boolean, run: () => Promise<T>): Promise<{ value: T } | null> {
  const scope = new CancellationScope();
  let hasEnded = false;
  let isCut = false;
  const cut = () => {
    isCut = !hasEnded;
    if (isCut) scope.cancel();
  };
  condition(() => hasEnded || isOver()).then(cut, () => undefined); // rejected: the surrounding scope cancels this one
  try {
    return { value: await scope.run(run) };
  } catch (error) {
    if (!(isCut && isCancellation(error))) throw error;
    return null;
  } finally {
    hasEnded = true;
  }
}
