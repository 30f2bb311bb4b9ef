import {
  type ActivityOptions,
  CancellationScope,
  isCancellation,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { HostRef } from '../../model/host.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor, SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { DEFAULT_TIMEOUTS, type Timeouts } from '../../model/sandbox/timeouts.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { runUntil } from '../saga/cancellation.ts';
import { failureOf } from '../saga/failure.ts';
import { onHost, type Targeted } from '../saga/host-activities.ts';
import { now } from '../saga/now.ts';
import { undoProfile } from '../saga/profiles.ts';
import { retryForever } from '../saga/retry-forever.ts';

/** Change of any task's record. */
interface Waiting {
  waitingFor: string | null;
}

/** Entry in the audit trail of a task. */
interface TaskEntry {
  kind: AuditKind;
  detail: Record<string, unknown>;
}

/** State of one task in its workflow: its failed step, generation and retries. */
export abstract class TaskLife {
  /** Step that failed last, before any compensation. */
  failedStep = 'workflow';
  /**
   * Generation of its steps. Later runs are newer, so that an abandoned attempt has no effect in the next run; a
   * compensation is newer than its step.
   */
  readonly generation = workflowInfo().startTime.getTime();
  readonly #pauseMs: number;

  constructor(timeouts: Partial<Timeouts> = {}) {
    this.#pauseMs = timeouts.taskPauseMs ?? DEFAULT_TIMEOUTS.taskPauseMs;
  }

  /** Changes the record; also when the workflow is being cancelled. */
  abstract recordChange(changes: Waiting): Promise<unknown>;

  async step<T>(name: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      this.failedStep = name;
      throw error;
    }
  }

  /**
   * Runs work until it ends, is cancelled or times out.
   * @param longest Temporal duration
   * @returns the result, or the failure; null failure: cancelled
   */
  async runWithin<T>(
    longest: '3h' | '4h',
    isCancelled: () => boolean,
    work: () => Promise<T>,
  ): Promise<{ value: T } | { failure: Pick<SandboxFailure, 'code' | 'message'> | null }> {
    try {
      const done = await runUntil(isCancelled, () => CancellationScope.withTimeout(longest, work));
      return done ?? { failure: null };
    } catch (error) {
      if (isCancelled()) return { failure: null };
      if (isCancellation(error))
        return { failure: { code: 'step_timeout', message: `it took longer than ${longest}` } };
      const { step, code, message } = failureOf(error, this.failedStep);
      return { failure: { code, message: `${step}: ${message}` } };
    }
  }

  /** Retries until success, shielded from a cancel; the record shows the reason. @param run n-th attempt, n from 1 */
  retryUntilDone<T>(what: string, run: (n: number) => Promise<T>): Promise<T> {
    const pauseMs = this.#pauseMs;
    const recordWaiting = (waitingFor: string | null) => this.recordChange({ waitingFor });
    return CancellationScope.nonCancellable(() => retryForever(what, run, { pauseMs, recordWaiting }));
  }
}

/** Task whose record is written together with its audit trail, and only here. */
export abstract class RecordedTask<Changes extends { state?: string } & Partial<Waiting>, Written> extends TaskLife {
  #events = 0;

  constructor(
    /** Actor, host, and details common to all audit entries. */
    private readonly about: { actor: Actor; hostId: string; detail?: Record<string, unknown> },
    timeouts?: Partial<Timeouts>,
  ) {
    super(timeouts);
  }

  protected abstract write(
    changes: (Changes | Waiting) & { updatedAt: string },
    event: AuditEvent | null,
  ): Promise<Written>;

  override async recordChange(changes: Changes | Waiting, entry?: TaskEntry): Promise<Written> {
    const { state, waitingFor } = { state: '', ...changes };
    setCurrentDetails([state, waitingFor].filter(Boolean).join(' · '));
    const event = entry ? this.event(entry) : null;
    return CancellationScope.nonCancellable(() => this.write({ ...changes, updatedAt: now() }, event));
  }

  /** Returns the run's next event, with the same id in a replay. */
  protected event({ kind, detail }: TaskEntry): AuditEvent {
    const { actor, hostId, detail: common } = this.about;
    return auditEvent(this.#events++, { kind, actor, hostId, detail: { ...common, ...detail } });
  }
}

/** Returns steps of a task on a host, each with `target` in its input. @param options of all steps, with the summary */
export function taskSteps<T extends { sandboxId: string }>(
  life: TaskLife,
  host: HostRef,
  target: T,
  options: ActivityOptions,
  generation = life.generation,
): Targeted<T & { generation: number }> {
  const run = (name: string, execute: (options: ActivityOptions) => Promise<unknown>) =>
    life.step(name, () => execute(options));
  return onHost(host, run, { ...target, generation });
}

/** Compensations of a task, a generation newer than its steps, each retried until success. */
export function taskCompensations<T extends { sandboxId: string }>(
  life: TaskLife,
  host: HostRef,
  target: T,
  summary: string,
): Targeted<T & { generation: number }> {
  const run = (name: string, execute: (options: ActivityOptions) => Promise<unknown>) =>
    life.retryUntilDone(name, (n) => execute({ ...undoProfile(n), summary }));
  return onHost(host, run, { ...target, generation: life.generation + 1 });
}
