import type { WorkflowInterceptors } from '@temporalio/workflow';
import { SerialQueue } from './serial-queue.ts';

/**
 * Runs one local activity of a run after another. Those that run at once are resolved as they end, and in a replay as they
 * began: then what comes after them changes places, and the run is stuck (temporalio/sdk-python#1578).
 */
export function interceptors(): WorkflowInterceptors {
  const queue = new SerialQueue();
  return {
    outbound: [
      {
        scheduleLocalActivity: (input, next) => queue.run(() => next(input)),
      },
    ],
  };
}
