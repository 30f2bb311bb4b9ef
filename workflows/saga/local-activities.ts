import type { WorkflowInterceptors } from '@temporalio/workflow';
import { SerialQueue } from './serial-queue.ts';

/**
 * Runs the local activities of a run one at a time. Concurrent ones resolve in order of their ends, but in a replay in
 * order of their starts: the order of later commands then differs, and the run is stuck (temporalio/sdk-python#1578).
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
