import { setTimeout as sleep } from 'node:timers/promises';
import type {
  Client,
  Workflow,
  WorkflowExecutionStatusName,
  WorkflowHandle,
  WorkflowStartOptions,
} from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import { CONTROL_QUEUE, sandboxWorkflowId } from '../../model/sagas/queues.ts';
import type { RequestSigner } from '../../model/sandbox/signed-request.ts';
import { isMissingWorkflow, shouldRetryOnNextRun } from './failure.ts';

/** Pause before an update is sent again to a run that continues as new, ms. */
const PAUSE_MS = 20;

/** Deadlines of calls, and conversion of their errors. */
export interface Calls {
  /** Returns undefined for a missing workflow, where that is not an error. */
  call<T>(call: () => Promise<T>): Promise<T | undefined>;
  /** Repeats a long poll until it answers. @throws the signal's reason when it fires first */
  wait<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T | undefined>;
}

type Start = Omit<WorkflowStartOptions, 'taskQueue'>;

/** Policies that join a running workflow, and restart an ended one. */
export const JOIN_OR_RESTART = {
  workflowIdConflictPolicy: 'USE_EXISTING',
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
} as const;

/** Base of the clients of workflows, one class per noun. */
export abstract class WorkflowClient {
  constructor(
    protected readonly client: Client,
    protected readonly calls: Calls,
    private readonly givenSigner?: RequestSigner,
  ) {}

  /** Returns the signer of requests to the control worker. @throws MayflyError internal without one */
  protected get signer(): RequestSigner {
    if (this.givenSigner) return this.givenSigner;
    throw new MayflyError('internal', 'This process has no key to sign requests with.');
  }

  /** Starts a workflow. Resolves when Temporal has it. */
  protected async start(type: string, options: Start): Promise<void> {
    await this.calls.call(() => this.client.workflow.start<Workflow>(type, { ...options, taskQueue: CONTROL_QUEUE }));
  }

  /** Starts a workflow unless it runs, also after it has ended. Resolves when Temporal has it. */
  protected async startUnlessRunning(type: string, options: Start): Promise<void> {
    await this.start(type, { ...options, ...JOIN_OR_RESTART });
  }

  /** Resolves when Temporal has the signal; starts the workflow where none runs. */
  protected async signalWithStart(
    type: string,
    options: Start,
    signal: string,
    ...signalArgs: unknown[]
  ): Promise<void> {
    await this.calls.call(() =>
      this.client.workflow.signalWithStart<Workflow, unknown[]>(type, {
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        ...options,
        taskQueue: CONTROL_QUEUE,
        signal,
        signalArgs,
      }),
    );
  }

  /** Resolves when Temporal has the signal, or the workflow does not run. */
  protected async signal(workflowId: string, signal: string, ...args: unknown[]): Promise<void> {
    await this.unlessGone(() => this.handle(workflowId).signal<unknown[]>(signal, ...args));
  }

  /** Resolves when the workflow has ended, with its result. @throws the signal's reason when it fires first */
  protected result<T>(workflowId: string, signal: AbortSignal): Promise<T | undefined> {
    return this.calls.wait(signal, () => this.client.workflow.getHandle<() => Promise<T>>(workflowId).result());
  }

  /** Returns undefined for a missing workflow. */
  protected async unlessGone<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await this.calls.call(call);
    } catch (error) {
      if (isMissingWorkflow(error)) return undefined;
      throw error;
    }
  }

  /**
   * Executes an update of a sandbox's workflow, in its present run, and returns the result. To be wrapped in a call or
   * a wait.
   * @param updateId id by which a repeated update joins the first. `@default` a new one
   */
  protected async ask<T>(sandboxId: string, update: string, args: unknown[] = [], updateId?: string): Promise<T> {
    const options = { args: args as [unknown], ...(updateId !== undefined && { updateId }) };
    for (;;) {
      try {
        return await this.handle(sandboxWorkflowId(sandboxId)).executeUpdate<T, [unknown]>(update, options);
      } catch (error) {
        if (!shouldRetryOnNextRun(error)) throw error;
      }
      await sleep(PAUSE_MS);
    }
  }

  /** As {@link ask}. @throws MayflyError sandbox_ended */
  protected async askOpen(sandboxId: string, update: string, args: unknown[], updateId: string): Promise<void> {
    try {
      await this.ask(sandboxId, update, args, updateId);
    } catch (error) {
      if (!isMissingWorkflow(error)) throw error;
      throw new MayflyError('sandbox_ended', `The saga of ${sandboxId} has ended.`, { cause: error });
    }
  }

  /** Returns undefined for an unknown workflow. Unlike a list, the status is never behind. */
  protected async statusOf(workflowId: string): Promise<WorkflowExecutionStatusName | undefined> {
    return (await this.unlessGone(() => this.handle(workflowId).describe()))?.status.name;
  }

  protected handle(workflowId: string): WorkflowHandle {
    return this.client.workflow.getHandle(workflowId);
  }
}
