import { setTimeout as sleep } from 'node:timers/promises';
import type {
  Client,
  Workflow,
  WorkflowExecutionStatusName,
  WorkflowHandle,
  WorkflowStartOptions,
} from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import { CONTROL_QUEUE, workflowIdOf } from '../../model/sagas/queues.ts';
import type { RequestSigner } from '../../model/sandbox/signed-request.ts';
import { isForNextRun, isGone } from './failure.ts';

/** Pause before a run that continues as new is asked again: it writes what it was asked before. Milliseconds. */
const PAUSE_MS = 20;

/** Deadlines of calls, and what becomes of their errors. */
export interface Calls {
  /** Undefined when the workflow is gone, where that is no error. */
  call<T>(call: () => Promise<T>): Promise<T | undefined>;
  /** Repeats a long poll until it answers. @throws the signal's reason when it fires first */
  wait<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T | undefined>;
}

type Start = Omit<WorkflowStartOptions, 'taskQueue'>;

/** Policies that join a workflow which runs, and start one that has ended again. */
export const JOINED = { workflowIdConflictPolicy: 'USE_EXISTING', workflowIdReusePolicy: 'ALLOW_DUPLICATE' } as const;

/** Base of the clients of workflows, one class per noun. */
export abstract class WorkflowClient {
  constructor(
    protected readonly client: Client,
    protected readonly calls: Calls,
    private readonly givenSigner?: RequestSigner,
  ) {}

  /** Signs what the control worker is asked for. @throws MayflyError internal */
  protected get signer(): RequestSigner {
    if (this.givenSigner) return this.givenSigner;
    throw new MayflyError('internal', 'This process has no key to sign requests with.');
  }

  /** Resolves when Temporal has it. */
  protected async start(type: string, options: Start): Promise<void> {
    await this.calls.call(() => this.client.workflow.start<Workflow>(type, { ...options, taskQueue: CONTROL_QUEUE }));
  }

  /** Starts a workflow unless it runs, also after it has ended. Resolves when Temporal has it. */
  protected async startUnlessRunning(type: string, options: Start): Promise<void> {
    await this.start(type, { ...options, ...JOINED });
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

  /** Resolves when the workflow has ended, with what it returned. @throws the signal's reason when it fires first */
  protected result<T>(workflowId: string, signal: AbortSignal): Promise<T | undefined> {
    return this.calls.wait(signal, () => this.client.workflow.getHandle<() => Promise<T>>(workflowId).result());
  }

  /** Undefined when the workflow is gone. */
  protected async unlessGone<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await this.calls.call(call);
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  /**
   * Asks the workflow of a sandbox, whichever of its runs is there, and returns its answer; in a call or a wait.
   * @param updateId of an update that the same question again joins. `@default` a new one
   */
  protected async ask<T>(sandboxId: string, update: string, args: unknown[] = [], updateId?: string): Promise<T> {
    const options = { args: args as [unknown], ...(updateId !== undefined && { updateId }) };
    for (;;) {
      try {
        return await this.handle(workflowIdOf(sandboxId)).executeUpdate<T, [unknown]>(update, options);
      } catch (error) {
        if (!isForNextRun(error)) throw error;
      }
      await sleep(PAUSE_MS);
    }
  }

  /** As {@link ask}. @throws MayflyError sandbox_ended */
  protected async askOpen(sandboxId: string, update: string, args: unknown[], updateId: string): Promise<void> {
    try {
      await this.ask(sandboxId, update, args, updateId);
    } catch (error) {
      if (!isGone(error)) throw error;
      throw new MayflyError('sandbox_ended', `The saga of ${sandboxId} has ended.`, { cause: error });
    }
  }

  /** Undefined when Temporal does not know it; other than a list, this is never behind. */
  protected async statusOf(workflowId: string): Promise<WorkflowExecutionStatusName | undefined> {
    return (await this.unlessGone(() => this.handle(workflowId).describe()))?.status.name;
  }

  protected handle(workflowId: string): WorkflowHandle {
    return this.client.workflow.getHandle(workflowId);
  }
}
