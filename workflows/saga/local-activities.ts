import type { WorkflowInterceptors } from '@temporalio/workflow';
import { Turns } from './turns.ts';

/**
 * Runs one local activity of a run after another. Those that run at once are resolved as they end, and in a replay as they
 * began: then what comes after them changes places, and the run is stuck (temporalio/sdk-python#1578).
 */
export function interceptors(): WorkflowInterceptors {
  const turns = new Turns();
  return {
    outbound: [
      {
        scheduleLocalActivity: (input, next) => turns.take(() => next(input)),
      },
    ],
  };
}
