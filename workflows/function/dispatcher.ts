import { condition, continueAsNew, defineSignal, setHandler } from '@temporalio/workflow';
import { type DispatcherInput, LOOK } from '../../model/functions/run-saga.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { shallContinue } from '../saga/continue-as-new.ts';
import { control } from '../saga/control.ts';

const look = defineSignal(LOOK);

/** What is queued is looked at so often when nobody tells of anything. Milliseconds. */
const POLL_MS = 3_000;

/**
 * Admits the runs of one function, the next key's first one after another, as far as its concurrency goes:
 *
 *   something was queued, or has ended → what can be admitted is → … → nothing is queued
 *
 * Any number of them may look at once: what is under way is counted in the store at each decision. Whoever queues
 * something, when this has ended, begins another.
 */
export async function dispatcher({ project, name, after = '' }: DispatcherInput): Promise<void> {
  let isTold = false;
  let isCancelled = false;
  whenCancelled(() => {
    isCancelled = true;
  });
  setHandler(look, () => {
    isTold = true;
  });
  for (let at = after; ; ) {
    isTold = false;
    const found = await control.admitRuns({ project, name, after: at });
    at = found.after;
    if (isCancelled || (found.isEmpty && !isTold)) return;
    if (shallContinue()) return continueAsNew<typeof dispatcher>({ project, name, after: at });
    if (!found.isMore) await condition(() => isTold || isCancelled, Math.min(found.waitMs ?? POLL_MS, POLL_MS));
  }
}
