import { continueAsNew } from '@temporalio/workflow';
import { type DispatcherInput, WAKE_DISPATCHER } from '../../model/functions/run-saga.ts';
import { repeatTurns } from '../saga/continue-as-new.ts';
import { control } from '../saga/control.ts';

/** Interval at which a queue is read without a signal, ms. */
const POLL_MS = 3_000;

/**
 * Admits queued runs of one function, round-robin over keys, up to its concurrency:
 *
 *   a run was queued, or has ended → admit → … → queue is empty
 *
 * Dispatchers may run concurrently: the store counts active runs at each decision. A run queued after the end of this
 * workflow starts another.
 */
export async function dispatcher({ project, name, after = '' }: DispatcherInput): Promise<void> {
  let at = after;
  const admit = async () => {
    const found = await control.admitRuns({ project, name, after: at });
    at = found.after;
    if (found.isEmpty) return null;
    return found.isMore ? 0 : Math.min(found.waitMs ?? POLL_MS, POLL_MS);
  };
  await repeatTurns(WAKE_DISPATCHER, admit, () => continueAsNew<typeof dispatcher>({ project, name, after: at }));
}
