import { continueAsNew } from '@temporalio/workflow';
import { type DispatcherInput, LOOK } from '../../model/functions/run-saga.ts';
import { repeatTurns } from '../saga/continue-as-new.ts';
import { control } from '../saga/control.ts';

/** Interval at which a queue is read without a signal, ms. */
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
  let at = after;
  const admit = async () => {
    const found = await control.admitRuns({ project, name, after: at });
    at = found.after;
    if (found.isEmpty) return null;
    return found.isMore ? 0 : Math.min(found.waitMs ?? POLL_MS, POLL_MS);
  };
  await repeatTurns(LOOK, admit, () => continueAsNew<typeof dispatcher>({ project, name, after: at }));
}
