import { continueAsNew } from '@temporalio/workflow';
import type { BulkInput } from '../../model/functions/bulk.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { shouldContinueAsNew } from '../saga/continue-as-new.ts';
import { controlUntilDone } from '../saga/control.ts';

/**
 * Applies one action to many runs of a function:
 *
 *   next page of runs → act on each → record the page → … → no page left, or cancelled
 *
 * Progress is in the store, and each run records the action, so a lost workflow can be restarted.
 */
export async function bulk(input: BulkInput): Promise<void> {
  const { bulkId } = input;
  let isCancelled = false;
  whenCancelled(() => {
    isCancelled = true;
  });
  for (;;) {
    if (isCancelled) await controlUntilDone.cancelBulk({ bulkId });
    const page = await controlUntilDone.nextOfBulk({ bulkId });
    if (!page) return;
    const done = await controlUntilDone.actOnBulk({ bulkId, runs: page.runs });
    await controlUntilDone.recordBulk({ bulkId, page, done });
    if (shouldContinueAsNew() && !isCancelled) return continueAsNew<typeof bulk>(input);
  }
}
