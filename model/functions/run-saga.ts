import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import { scheduleWorkflowId } from '../schedules/schedule-saga.ts';
import { digestKey } from './key-digest.ts';
import type { RunRecord } from './run.ts';
import type { RunOutcome } from './run-state.ts';

/** Workflow of one admitted run; its id is {@link runWorkflowId}. */
export const RUN_WORKFLOW = 'run';
/** Ids only: the event and the function's specification are in the store. */
export interface RunInput {
  runId: string;
  project: string;
  function: string;
  actor: Actor;
  /** Workflow of its schedule, notified after cleanup. `@default` none */
  scheduledBy?: string;
  /** Digest of its first concurrency key, for lookups by operators. `@default` no key */
  key?: string;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** Signal with an {@link Actor}: compensates the run, or ends its process; no effect after the end. */
export const CANCEL_RUN = 'cancelRun';

/** Signal without arguments: a waitpoint of a hibernated run got a delivery, or the run has its slots again. */
export const WAKE_WAITS = 'lookAtWaits';

export function toRunInput({ id, project, function: name, keys, schedule, createdBy }: RunRecord): RunInput {
  const key = keys.find((each) => each !== null) ?? null;
  return {
    runId: id,
    project,
    function: name,
    actor: createdBy,
    ...(key !== null && { key: digestKey(key) }),
    ...(schedule && { scheduledBy: scheduleWorkflowId({ project, name: schedule.name }) }),
  };
}

export function runWorkflowId(runId: string): string {
  return `run/${runId}`;
}

/** Attempt as its workflow continues it. */
export interface StartedAttempt {
  runId: string;
  n: number;
  sandboxId: string;
  commandId: string;
  begunAt: string;
  /** Sandboxes of the run, including this one. */
  tries: number;
  /** True when the sandbox has a record. */
  isPresent: boolean;
  /** True when the process was started. */
  isStarted: boolean;
  /** True when the record has its outcome. */
  hasEnded: boolean;
  /** Principal that cancelled the run, according to the record. */
  cancelledBy: Actor | null;
  /** True when the function retains the disks of failed runs. Absent: false */
  keeps?: true;
  /** True when the function records its process's file changes. Absent: false */
  diffs?: true;
  /** True when the timeout is suspended while the process waits. Absent: false */
  stops?: true;
}

/** Result for a run that released its slots and must reacquire them before it starts anything. */
export interface LacksSlot {
  lacksSlot: true;
}

/** Next step of a run after the end of its sandbox. `lost`: the store has no record of the run. */
export type RunNextStep =
  | { step: 'end'; outcome?: RunOutcome | null }
  | { step: 'requeue' | 'lost' }
  | { step: 'retry'; pauseMs: number };

/** Workflow that admits a function's runs; its id is {@link dispatcherWorkflowId}. Ends when no run is queued. */
export const DISPATCHER_WORKFLOW = 'dispatcher';
export interface DispatcherInput {
  project: string;
  name: string;
  /** Key admitted last: round robin continues after it. `@default` start with the first */
  after?: string;
}
/** Signal without arguments: a run was queued or has ended. */
export const WAKE_DISPATCHER = 'look';

export function dispatcherWorkflowId({ project, name }: Pick<DispatcherInput, 'project' | 'name'>): string {
  return `function/${project}/${name}`;
}
