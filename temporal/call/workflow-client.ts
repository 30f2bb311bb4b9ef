import type {
  Client,
  Workflow,
  WorkflowExecutionStatusName,
  WorkflowHandle,
  WorkflowStartOptions,
} from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import { CONTROL_QUEUE, workflowIdOf } from '../../model/sagas/queues.ts';
import { ask, type Question } from './ask.ts';
import { isGone } from './failure.ts';

/** Deadlines of calls, and what becomes of their errors. */
export interface Calls {
  /** Undefined when the workflow is gone, where that is no error. */
  call<T>(call: () => Promise<T>): Promise<T | undefined>;
  /** Repeats a long poll until it answers. @throws the signal's reason when it fires first */
  wait<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T | undefined>;
}

type Start = Omit<WorkflowStartOptions, 'taskQueue'>;

/** Base of the clients of workflows, one class per noun. */
export abstract class WorkflowClient {
  constructor(
    protected readonly client: Client,
    protected readonly calls: Calls,
  ) {}

  /** Resolves when Temporal has it. */
  protected async start(type: string, options: Start): Promise<void> {
    await this.calls.call(() => this.client.workflow.start<Workflow>(type, { ...options, taskQueue: CONTROL_QUEUE }));
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

  /** Asks the workflow of a sandbox, in a call or a wait. @throws MayflyError sandbox_ended */
  protected async askOpen(sandboxId: string, update: string, question: Question): Promise<void> {
    try {
      await ask(this.client, workflowIdOf(sandboxId), update, question);
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
