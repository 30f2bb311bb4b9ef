import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import { type ScheduleInput, WAKE_SCHEDULE } from '../../model/schedules/schedule-saga.ts';
import { repeatTurns } from '../saga/continue-as-new.ts';

/** Queued, not local: retries until the store answers add no events to the history. */
const { advanceSchedule } = proxyActivities<ControlActivities>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
});

/**
 * Runs one schedule, from its creation until its deletion:
 *
 *   decide all ticks until now → ticks to run become events → sleep until the next tick, or a wake signal
 *
 * Its state is in the store, so another workflow resumes it. A cancellation in Temporal cancels the active runs and
 * pauses the schedule; its next workflow resumes from there.
 */
export async function schedule({ project, name }: ScheduleInput): Promise<void> {
  const advance = async (isCancelled: boolean) => (await advanceSchedule({ project, name, isCancelled })).wakeInMs;
  await repeatTurns(WAKE_SCHEDULE, advance, () => continueAsNew<typeof schedule>({ project, name }));
}
