import { type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { HostActivities } from '../../activities/host.ts';
import type { HostRef } from '../../model/host.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import { markReadable } from '../../model/sagas/readable.ts';

/** Wrapper of each activity: receives its name, and passes the options. */
type RunActivity = (activity: string, execute: (options: ActivityOptions) => Promise<unknown>) => Promise<unknown>;

export type Targeted<T> = { [Name in keyof HostActivities]: TargetedActivity<HostActivities[Name], T> };
type TargetedActivity<A, T> = A extends (input: infer Input) => infer Result
  ? (...more: object extends Omit<Input, keyof T> ? [] : [more: Omit<Input, keyof T>]) => Result
  : never;

/**
 * Returns the activities of one host's queue, named and typed at the call.
 * @param how options of each call, or a wrapper of each call
 * @param target fields of each input
 */
export function onHost(host: HostRef, how: ActivityOptions | RunActivity): HostActivities;
export function onHost<T extends object>(host: HostRef, how: ActivityOptions | RunActivity, target: T): Targeted<T>;
export function onHost(host: HostRef, how: ActivityOptions | RunActivity, target: object = {}): object {
  const run: RunActivity = typeof how === 'function' ? how : (_name, execute) => execute(how);
  const call = (name: string, input: object) =>
    run(name, ({ summary, ...options }) => {
      const named = { ...options, ...(summary !== undefined && { summary: markReadable(summary) }) };
      const proxied = proxyActivities<Record<string, Activity>>({ ...named, taskQueue: hostQueue(host) });
      const { [name]: activity } = proxied;
      if (!activity) throw new TypeError(`no activity ${name}`);
      return activity(input);
    });
  return new Proxy({}, { get: (_none, name) => (more?: object) => call(String(name), { ...target, ...more }) });
}

type Activity = (input: object) => Promise<unknown>;
