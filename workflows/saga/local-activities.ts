import { patched, type WorkflowInterceptors } from '@temporalio/workflow';
import { Turns } from './turns.ts';

/**
 * Runs one local activity of a run after another. Those that run at once are resolved as they end, and in a replay as they
 * began: then what comes after them changes places, and the run is stuck (temporalio/sdk-python#1578). Runs that began before
 * they took turns are replayed as they were.
 */
export function interceptors(): WorkflowInterceptors {
  const turns = new Turns();
  return {
    outbound: [
      {
        scheduleLocalActivity: (input, next) =>
          patched('local-activities-in-turn') ? turns.take(() => next(input)) : next(input),
      },
    ],
  };
}
