import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { BULK_WORKFLOW, type BulkInput, bulkWorkflowId } from '../../model/functions/bulk.ts';
import {
  CANCEL_RUN,
  DISPATCHER_WORKFLOW,
  type DispatcherInput,
  dispatcherWorkflowId,
  RUN_WORKFLOW,
  type RunInput,
  runWorkflowId,
  WAKE_DISPATCHER,
  WAKE_WAITS,
} from '../../model/functions/run-saga.ts';
import {
  RELEASE_SETUP,
  REQUEST_SETUP,
  SETUP_WORKFLOW,
  type SetupRef,
  setupWorkflowId,
} from '../../model/functions/setup/setup-saga.ts';
import { SEARCH_ATTRIBUTES } from '../../model/sagas/messages.ts';
import { CONTROL_QUEUE } from '../../model/sagas/queues.ts';
import { markReadable } from '../../model/sagas/readable.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

const FUNCTION = defineSearchAttributeKey(SEARCH_ATTRIBUTES.function, SearchAttributeType.KEYWORD);
const KEY = defineSearchAttributeKey(SEARCH_ATTRIBUTES.key, SearchAttributeType.KEYWORD);

type FunctionRef = Pick<DispatcherInput, 'project' | 'name'>;

/** Result of starting a run. `ran`: by its record it never started, but its workflow has ended. */
type RunStart = 'begun' | 'runs' | 'ran';

/** Starts and signals the workflows of functions: dispatchers, runs, bulk actions and setups. */
export class FunctionWorkflows extends WorkflowClient {
  /** Wakes the dispatcher of a function to poll its queue; starts one unless one runs. */
  async wakeDispatcher(ref: FunctionRef): Promise<void> {
    await this.signalWithStart(DISPATCHER_WORKFLOW, dispatcherOptions(ref), WAKE_DISPATCHER);
  }

  /** Starts the dispatcher of a function, unless one runs, which polls on its own. */
  async ensureDispatcher(ref: FunctionRef): Promise<void> {
    await this.startUnlessRunning(DISPATCHER_WORKFLOW, dispatcherOptions(ref));
  }

  /**
   * Starts or continues an admitted run, unless its workflow runs.
   * @param isFirst true when it never started, by its record
   */
  async startRun(input: RunInput, isFirst: boolean): Promise<RunStart> {
    const workflowId = runWorkflowId(input.runId);
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
        staticSummary: markReadable(`${input.function} of ${input.project}`),
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
    await this.signal(runWorkflowId(runId), CANCEL_RUN, actor);
  }

  /** Wakes the workflow of a run to poll its waitpoints. Resolves when Temporal has the signal, or no workflow runs. */
  async lookAtWaits(runId: string): Promise<void> {
    await this.signal(runWorkflowId(runId), WAKE_WAITS);
  }

  /** Starts or continues a bulk action, unless its workflow runs. */
  async startBulk(input: BulkInput): Promise<void> {
    await this.startUnlessRunning(BULK_WORKFLOW, {
      workflowId: bulkWorkflowId(input.bulkId),
      args: [input],
      staticSummary: markReadable(`${input.bulkId} of ${input.function} of ${input.project}`),
    });
  }

  /** Starts the workflow of a setup, unless it runs. */
  async startSetup(input: SetupRef): Promise<void> {
    await this.startUnlessRunning(SETUP_WORKFLOW, setupOptions(input));
  }

  /** As {@link startSetup}; an open workflow without work polls again. */
  async wantSetup(input: SetupRef): Promise<void> {
    await this.signalWithStart(SETUP_WORKFLOW, setupOptions(input), REQUEST_SETUP);
  }

  /** Requests the removal of a setup that no version needs, also during its preparation. */
  async removeSetup(input: SetupRef): Promise<void> {
    await this.signalWithStart(SETUP_WORKFLOW, setupOptions(input), RELEASE_SETUP);
  }
}

function dispatcherOptions({ project, name }: FunctionRef) {
  return {
    workflowId: dispatcherWorkflowId({ project, name }),
    args: [{ project, name }],
    staticSummary: markReadable(`admits runs of ${name}`),
  };
}

function setupOptions({ project, setupKey }: SetupRef) {
  return {
    workflowId: setupWorkflowId({ project, setupKey }),
    args: [{ project, setupKey }],
    staticSummary: markReadable(`a setup of ${project}`),
  };
}
