import { continueAsNew } from '@temporalio/workflow';
import type { BulkInput } from '../../model/functions/bulk.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { shallContinue } from '../saga/continue-as-new.ts';
import { controlUntilDone } from '../saga/control.ts';

/**
 * One action on many runs of a function:
 *
 *   the next page of runs → it is done on each of them → that is written down → … → there is none, or it is cancelled
 *
 * How far it is stands in the store, and each run knows whether it was acted on: so it is begun again by whoever finds it lost.
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
    if (shallContinue() && !isCancelled) return continueAsNew<typeof bulk>(input);
  }
}
