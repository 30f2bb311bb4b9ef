import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import { scheduleWorkflowIdOf } from '../schedules/schedule-saga.ts';
import { digestOfKey } from './key-digest.ts';
import type { RunRecord } from './run.ts';
import type { RunOutcome } from './run-state.ts';

/** The workflow of one admitted run; its id is {@link runWorkflowIdOf}. */
export const RUN_WORKFLOW = 'run';
/** Ids only: the event, and what runs, are in the store. */
export interface RunInput {
  runId: string;
  project: string;
  function: string;
  actor: Actor;
  /** The workflow of its schedule, which is told when nothing of it is left. `@default` none */
  scheduledBy?: string;
  /** Digest of the value of its first concurrency key, by which operators find it. `@default` it has none */
  key?: string;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** Signal with an {@link Actor}: it is undone, or its process ended; what has ended is as it ended. */
export const CANCEL_RUN = 'cancelRun';

/** Signal, no arguments: something came for a waitpoint of a run whose machine is hibernated, or it has its slots again. */
export const LOOK_AT_WAITS = 'lookAtWaits';

export function runInputOf({ id, project, function: name, keys, schedule, createdBy }: RunRecord): RunInput {
  const key = keys.find((each) => each !== null) ?? null;
  return {
    runId: id,
    project,
    function: name,
    actor: createdBy,
    ...(key !== null && { key: digestOfKey(key) }),
    ...(schedule && { scheduledBy: scheduleWorkflowIdOf({ project, name: schedule.name }) }),
  };
}

export function runWorkflowIdOf(runId: string): string {
  return `run/${runId}`;
}

/** An attempt as its workflow goes on with it. */
export interface BegunAttempt {
  runId: string;
  n: number;
  sandboxId: string;
  commandId: string;
  begunAt: string;
  /** Of the run, with this one. */
  tries: number;
  /** Its sandbox has a record. */
  isPresent: boolean;
  /** Its process was started. */
  isStarted: boolean;
  /** How it ended is written down. */
  hasEnded: boolean;
  /** Who wants the run to end, as it is written down. */
  cancelledBy: Actor | null;
  /** Its function keeps what failed. Absent: it does not. */
  keeps?: true;
  /** Its function wants to know what its process changes. Absent: it does not. */
  diffs?: true;
  /** The time of its process stops while that waits. Absent: it goes on. */
  stops?: true;
}

/** It has given its slots back, and begins nothing before it has some. */
export interface LacksSlot {
  lacksSlot: true;
}

/** What a run does when its sandbox is gone. `lost`: the store has no record of it any more. */
export type NextOfRun =
  | { step: 'end'; outcome?: RunOutcome | null }
  | { step: 'requeue' | 'lost' }
  | { step: 'retry'; pauseMs: number };

/** The workflow that admits the runs of one function; its id is {@link dispatcherWorkflowIdOf}. It ends when none is queued. */
export const DISPATCHER_WORKFLOW = 'dispatcher';
export interface DispatcherInput {
  project: string;
  name: string;
  /** The key that was admitted last: the one after it is next. `@default` from the first */
  after?: string;
}
/** Signal, no arguments: something was queued, or has ended. */
export const LOOK = 'look';

export function dispatcherWorkflowIdOf({ project, name }: Pick<DispatcherInput, 'project' | 'name'>): string {
  return `function/${project}/${name}`;
}
