import type { AttemptActivities } from '../../activities/function/attempt/attempt.ts';
import type { BulkActivities } from '../../activities/function/bulk.ts';
import type { createDiffActivities } from '../../activities/function/diff.ts';
import type { createKeepActivities } from '../../activities/function/keep.ts';
import type { DispatchActivities } from '../../activities/function/queue/dispatch.ts';
import type { ScheduleActivities } from '../../activities/function/schedule.ts';
import type { SetupActivities } from '../../activities/setup/setup.ts';
import type { SetupEndActivities } from '../../activities/setup/setup-end.ts';
import type { createWaitpointActivities } from '../../activities/waitpoint/waits.ts';
import type { DeliveryActivities } from '../../activities/webhook/deliver.ts';
import type { Listed } from './saga-points.ts';

type OfFunctions =
  | keyof DispatchActivities
  | keyof AttemptActivities
  | keyof ReturnType<typeof createKeepActivities>
  | keyof ReturnType<typeof createDiffActivities>
  | keyof ScheduleActivities
  | keyof BulkActivities
  | keyof ReturnType<typeof createWaitpointActivities>
  | keyof SetupActivities
  | keyof SetupEndActivities
  | keyof DeliveryActivities;

/** Activities of functions in the store that no saga above comes to by itself. */
export const STORE_ELSEWHERE: Record<Exclude<OfFunctions, Listed>, string> = {
  cancelBulk: 'workflows/bulk.integration',
  cancelRun: 'extended/workflows/intervened-programs.integration',
  showRun: 'workflows/run-host.integration',
  showSetup: 'workflows/setup-deaths.integration',
};
