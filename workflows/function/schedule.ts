import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import { type ScheduleInput, WAKE_SCHEDULE } from '../../model/schedules/schedule-saga.ts';
import { repeatTurns } from '../saga/continue-as-new.ts';

/** By the queue: what is repeated until the store answers costs the history no events. */
const { advanceSchedule } = proxyActivities<ControlActivities>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
});

/**
 * One schedule, from when it is made until it is deleted:
 *
 *   its times until now are decided → those that are run become events → it sleeps until the next time, or until it is woken
 *
 * What it decides by is in the store: another run of this workflow goes on where the last one was. A cancellation in Temporal
 * cancels the runs under way and pauses the schedule; the next workflow of it goes on from there.
 */
export async function schedule({ project, name }: ScheduleInput): Promise<void> {
  const advance = async (isCancelled: boolean) => (await advanceSchedule({ project, name, isCancelled })).wakeInMs;
  await repeatTurns(WAKE_SCHEDULE, advance, () => continueAsNew<typeof schedule>({ project, name }));
}
