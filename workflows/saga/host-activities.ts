import { type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { HostActivities } from '../../activities/host.ts';
import type { HostRef } from '../../model/host.ts';
import { hostQueue } from '../../model/sagas/queues.ts';

/** What runs each activity: it is told which one, and gives it its options. */
type RunActivity = (activity: string, execute: (options: ActivityOptions) => Promise<unknown>) => Promise<unknown>;

/**
 * The activities on one host's queue, each called through `run`: so a step is named once, where it is called, and has the
 * types of its activity.
 */
export function hostActivities(host: HostRef, run: RunActivity): HostActivities {
  const taskQueue = hostQueue(host);
  const call = (name: string, input: unknown) =>
    run(name, (options) => {
      const { [name]: activity } = proxyActivities<Record<string, Activity>>({ ...options, taskQueue });
      if (!activity) throw new TypeError(`no activity ${name}`);
      return activity(input);
    });
  return new Proxy({} as HostActivities, { get: (_none, name) => (input: unknown) => call(String(name), input) });
}

type Activity = (input: unknown) => Promise<unknown>;
