import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { BULK_WORKFLOW, type BulkInput, bulkWorkflowIdOf } from '../../model/functions/bulk.ts';
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
} from '../../model/functions/run-saga.ts';
import {
  SETUP_UNNEEDED,
  SETUP_WANTED,
  SETUP_WORKFLOW,
  type SetupRef,
  setupWorkflowIdOf,
} from '../../model/functions/setup/setup-saga.ts';
import { SEARCH_ATTRIBUTES } from '../../model/sagas/messages.ts';
import { CONTROL_QUEUE } from '../../model/sagas/queues.ts';
import { readable } from '../../model/sagas/readable.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

const FUNCTION = defineSearchAttributeKey(SEARCH_ATTRIBUTES.function, SearchAttributeType.KEYWORD);
const KEY = defineSearchAttributeKey(SEARCH_ATTRIBUTES.key, SearchAttributeType.KEYWORD);

type FunctionRef = Pick<DispatcherInput, 'project' | 'name'>;

/** What came of starting a run: `ran`: it never began by its record, and Temporal has seen it come to its end. */
type RunStart = 'begun' | 'runs' | 'ran';

/** Starts and signals the workflows of functions: dispatchers, runs, bulk actions and setups. */
export class FunctionWorkflows extends WorkflowClient {
  /** Has the dispatcher of a function look at its queue; begins one unless one runs. */
  async wakeDispatcher(ref: FunctionRef): Promise<void> {
    await this.signalWithStart(DISPATCHER_WORKFLOW, dispatcherOptions(ref), LOOK);
  }

  /** Begins the dispatcher of a function, unless one runs: that looks by itself. */
  async ensureDispatcher(ref: FunctionRef): Promise<void> {
    await this.startUnlessRunning(DISPATCHER_WORKFLOW, dispatcherOptions(ref));
  }

  /**
   * Begins an admitted run, or goes on with it, unless it runs.
   * @param isFirst it never began, by its record
   */
  async startRun(input: RunInput, isFirst: boolean): Promise<RunStart> {
    const workflowId = runWorkflowIdOf(input.runId);
    try {
      await this.client.workflow.start<(input: RunInput) => Promise<void>>(RUN_WORKFLOW, {
        workflowId,
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
      const { status } = await this.handle(workflowId).describe();
      return status.name === 'RUNNING' ? 'runs' : 'ran';
    }
  }

  /** Resolves when Temporal has the request, or nothing runs that could be cancelled. */
  async cancelRun(runId: string, actor: Actor): Promise<void> {
    await this.signal(runWorkflowIdOf(runId), CANCEL_RUN, actor);
  }

  /** Has the workflow of a run look at what it waits for. Resolves when Temporal has it, or nothing runs that waits. */
  async lookAtWaits(runId: string): Promise<void> {
    await this.signal(runWorkflowIdOf(runId), LOOK_AT_WAITS);
  }

  /** Begins an action on many runs, or goes on with it, unless it runs. */
  async startBulk(input: BulkInput): Promise<void> {
    await this.startUnlessRunning(BULK_WORKFLOW, {
      workflowId: bulkWorkflowIdOf(input.bulkId),
      args: [input],
      staticSummary: readable(`${input.bulkId} of ${input.function} of ${input.project}`),
    });
  }

  /** Begins what is to be done with a setup, unless it is being done. */
  async startSetup(input: SetupRef): Promise<void> {
    await this.startUnlessRunning(SETUP_WORKFLOW, setupOptions(input));
  }

  /** As {@link startSetup}; a workflow that has nothing to do any more, and is still open, looks once more. */
  async wantSetup(input: SetupRef): Promise<void> {
    await this.signalWithStart(SETUP_WORKFLOW, setupOptions(input), SETUP_WANTED);
  }

  /** Has a setup go that no version needs any more, also while it is being prepared. */
  async removeSetup(input: SetupRef): Promise<void> {
    await this.signalWithStart(SETUP_WORKFLOW, setupOptions(input), SETUP_UNNEEDED);
  }
}

function dispatcherOptions({ project, name }: FunctionRef) {
  return {
    workflowId: dispatcherWorkflowIdOf({ project, name }),
    args: [{ project, name }],
    staticSummary: readable(`admits runs of ${name}`),
  };
}

function setupOptions({ project, setupKey }: SetupRef) {
  return {
    workflowId: setupWorkflowIdOf({ project, setupKey }),
    args: [{ project, setupKey }],
    staticSummary: readable(`a setup of ${project}`),
  };
}
