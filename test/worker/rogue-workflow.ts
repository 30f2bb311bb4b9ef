import { proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';

type Named = Record<string, (input: unknown) => Promise<unknown>>;

/** Workflow of an attacker with access to Temporal: schedules any activity of the control worker. */
export async function rogue(activity: keyof ControlActivities, taskQueue: string, input: unknown): Promise<unknown> {
  const activities = proxyActivities<Named>({ taskQueue, startToCloseTimeout: '20s', retry: { maximumAttempts: 1 } });
  return activities[activity]?.(input);
}
