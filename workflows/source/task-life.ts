import { type ActivityOptions, CancellationScope, patched, workflowInfo } from '@temporalio/workflow';
import type { HostActivities } from '../../activities/host.ts';
import type { HostRef } from '../../model/host.ts';
import { readable } from '../../model/sagas/readable.ts';
import { brieflyFirst } from '../life/retry-until-done.ts';
import { failureOf } from '../saga/failure.ts';
import { hostActivities } from '../saga/host-activities.ts';
import { growing, untilDone } from '../saga/until-done.ts';

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

  /**
   * Repeats what must hold until it does; meanwhile the record says what it waits for.
   * @param run the n-th attempt, n from 1: of an activity the first is brief, and the second Temporal's to repeat
   */
  retryUntilDone<T>(what: string, run: (n: number) => Promise<T>): Promise<T> {
    let recorded = '';
    const attempt = async (n: number) => {
      const result = await run(n);
      if (recorded !== '') await this.recordChange({ waitingFor: null });
      return result;
    };
    const onFailure = async (error: unknown) => {
      const waitingFor = `${what}: ${failureOf(error, what).message}`;
      if (waitingFor !== recorded || !patched('said-once')) await this.recordChange({ waitingFor });
      recorded = waitingFor;
    };
    return CancellationScope.nonCancellable(() => untilDone(attempt, onFailure, growing(this.pauseMs)));
  }
}

/** The steps of a task on a host, and their undos, which are retried until they are done. */
export function taskSteps(
  life: TaskLife,
  host: HostRef,
  options: { step: ActivityOptions; undo: ActivityOptions; summary: string },
): { step: HostActivities; undo: HostActivities } {
  const summary = readable(options.summary);
  return {
    step: hostActivities(host, (name, execute) => life.step(name, () => execute({ ...options.step, summary }))),
    undo: hostActivities(host, (name, execute) =>
      life.retryUntilDone(name, (n) => execute({ ...(n === 1 ? brieflyFirst(options.undo) : options.undo), summary })),
    ),
  };
}
