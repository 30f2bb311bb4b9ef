import { type ActivityOptions, CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { HostActivities } from '../../activities/host.ts';
import type { HostRef } from '../../model/host.ts';
import { failureOf } from '../saga/failure.ts';
import { hostActivities } from '../saga/host-activities.ts';
import { untilDone } from '../saga/until-done.ts';

/** One task that has a workflow of its own, as that workflow knows it: how far it came, and what must hold. */
export abstract class TaskLife {
  /** The step that failed last, before any undo. */
  failedStep = 'workflow';
  /**
   * Later runs are newer than earlier ones, so that an attempt that was given up does not act into the next run; an
   * undo is newer than its step.
   */
  readonly generation = workflowInfo().startTime.getTime();

  /** @param pauseMs between two tries of what must hold */
  constructor(private readonly pauseMs: number) {}

  /** Changes the record; also when the workflow is being cancelled. */
  abstract recordChange(changes: { waitingFor: string | null }): Promise<unknown>;

  async step<T>(name: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      this.failedStep = name;
      throw error;
    }
  }

  /** Repeats what must hold until it does; meanwhile the record says what it waits for. */
  retryUntilDone<T>(what: string, run: () => Promise<T>): Promise<T> {
    let isRecorded = false;
    const attempt = async () => {
      const result = await run();
      if (isRecorded) await this.recordChange({ waitingFor: null });
      return result;
    };
    const onFailure = async (error: unknown) => {
      await this.recordChange({ waitingFor: `${what}: ${failureOf(error, what).message}` });
      isRecorded = true;
    };
    return CancellationScope.nonCancellable(() => untilDone(attempt, onFailure, () => this.pauseMs));
  }
}

/** The steps of a task on a host, and their undos, which are retried until they are done. */
export function taskSteps(
  life: TaskLife,
  host: HostRef,
  options: { step: ActivityOptions; undo: ActivityOptions; summary: string },
): { step: HostActivities; undo: HostActivities } {
  const { summary } = options;
  return {
    step: hostActivities(host, (name, execute) => life.step(name, () => execute({ ...options.step, summary }))),
    undo: hostActivities(host, (name, execute) =>
      life.retryUntilDone(name, () => execute({ ...options.undo, summary })),
    ),
  };
}
