import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { BULK_WORKFLOW, type BulkInput, bulkWorkflowIdOf } from '../model/functions/bulk.ts';
import {
  CANCEL_RUN,
  DISPATCHER_WORKFLOW,
  type DispatcherInput,
  dispatcherWorkflowIdOf,
  LOOK,
  LOOK_AT_WAITS,
  RUN_WORKFLOW,
  type RunInput,
  runWorkflowIdOf,
} from '../model/functions/run-saga.ts';
import {
  SETUP_UNNEEDED,
  SETUP_WANTED,
  SETUP_WORKFLOW,
  type SetupInput,
  type SetupRef,
  setupWorkflowIdOf,
} from '../model/functions/setup/setup-saga.ts';
import { SEARCH_ATTRIBUTES } from '../model/sagas/messages.ts';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import type { Actor } from '../model/sandbox/sandbox.ts';
import { isGone } from './temporal/failure.ts';

const FUNCTION = defineSearchAttributeKey(SEARCH_ATTRIBUTES.function, SearchAttributeType.KEYWORD);
const KEY = defineSearchAttributeKey(SEARCH_ATTRIBUTES.key, SearchAttributeType.KEYWORD);

type FunctionRef = Pick<DispatcherInput, 'project' | 'name'>;

/** Has the dispatcher of a function look at its queue; begins one unless one runs. */
export async function wakeDispatcher(client: Client, { project, name }: FunctionRef): Promise<void> {
  await client.workflow.signalWithStart<(input: DispatcherInput) => Promise<void>, []>(DISPATCHER_WORKFLOW, {
    ...dispatcherOptions({ project, name }),
    signal: LOOK,
    signalArgs: [],
  });
}

/** Begins the dispatcher of a function, unless one runs: that looks by itself. */
export async function ensureDispatcher(client: Client, { project, name }: FunctionRef): Promise<void> {
  await client.workflow.start<(input: DispatcherInput) => Promise<void>>(DISPATCHER_WORKFLOW, {
    ...dispatcherOptions({ project, name }),
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
}

function dispatcherOptions({ project, name }: FunctionRef) {
  return {
    workflowId: dispatcherWorkflowIdOf({ project, name }),
    taskQueue: CONTROL_QUEUE,
    args: [{ project, name }] as [DispatcherInput],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
    staticSummary: readable(`admits runs of ${name}`),
  };
}

/** What came of starting a run: `ran`: it never began by its record, and Temporal has seen it come to its end. */
export type RunStart = 'begun' | 'runs' | 'ran';

/**
 * Begins an admitted run, or goes on with it, unless it runs.
 * @param isFirst it never began, by its record
 */
export async function startRun(client: Client, input: RunInput, isFirst: boolean): Promise<RunStart> {
  try {
    await client.workflow.start<(input: RunInput) => Promise<void>>(RUN_WORKFLOW, {
      workflowId: runWorkflowIdOf(input.runId),
      taskQueue: CONTROL_QUEUE,
      args: [input],
      workflowIdReusePolicy: isFirst ? 'ALLOW_DUPLICATE_FAILED_ONLY' : 'ALLOW_DUPLICATE',
      typedSearchAttributes: [
        { key: FUNCTION, value: `${input.project}/${input.function}` },
        ...(input.key === undefined ? [] : [{ key: KEY, value: input.key }]),
      ],
      staticSummary: readable(`${input.function} of ${input.project}`),
      staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
    });
    return 'begun';
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    if (!isFirst) return 'runs';
    const { status } = await client.workflow.getHandle(runWorkflowIdOf(input.runId)).describe();
    return status.name === 'RUNNING' ? 'runs' : 'ran';
  }
}

/** Begins an action on many runs, or goes on with it, unless it runs. */
export async function startBulk(client: Client, input: BulkInput): Promise<void> {
  await client.workflow.start<(input: BulkInput) => Promise<void>>(BULK_WORKFLOW, {
    workflowId: bulkWorkflowIdOf(input.bulkId),
    taskQueue: CONTROL_QUEUE,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    staticSummary: readable(`${input.bulkId} of ${input.function} of ${input.project}`),
  });
}

/** Begins what is to be done with a setup, unless it is being done. */
export async function startSetup(client: Client, input: SetupRef): Promise<void> {
  await client.workflow.start<(input: SetupInput) => Promise<void>>(SETUP_WORKFLOW, {
    ...setupOptions(input),
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
}

/** As {@link startSetup}; a workflow that has nothing to do any more, and is still open, looks once more. */
export async function wantSetup(client: Client, input: SetupRef): Promise<void> {
  await client.workflow.signalWithStart<(input: SetupInput) => Promise<void>, []>(SETUP_WORKFLOW, {
    ...setupOptions(input),
    signal: SETUP_WANTED,
    signalArgs: [],
  });
}

/** Has a setup go that no version needs any more, also while it is being prepared. */
export async function removeSetup(client: Client, input: SetupRef): Promise<void> {
  await client.workflow.signalWithStart<(input: SetupInput) => Promise<void>, []>(SETUP_WORKFLOW, {
    ...setupOptions(input),
    signal: SETUP_UNNEEDED,
    signalArgs: [],
  });
}

function setupOptions({ project, setupKey }: SetupRef) {
  return {
    workflowId: setupWorkflowIdOf({ project, setupKey }),
    taskQueue: CONTROL_QUEUE,
    args: [{ project, setupKey }] as [SetupInput],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
    staticSummary: readable(`a setup of ${project}`),
  };
}

/** Returns when Temporal has the wish, or nothing runs that could be cancelled. */
export async function cancelRun(client: Client, runId: string, actor: Actor): Promise<void> {
  try {
    await client.workflow.getHandle(runWorkflowIdOf(runId)).signal<[Actor]>(CANCEL_RUN, actor);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** Returns when Temporal has it, or nothing runs that waits. */
export async function lookAtWaits(client: Client, runId: string): Promise<void> {
  try {
    await client.workflow.getHandle(runWorkflowIdOf(runId)).signal<[]>(LOOK_AT_WAITS);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}
