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

/** A change of any task's record. */
interface Waiting {
  waitingFor: string | null;
}

/** An entry in the audit trail of a task. */
interface TaskEntry {
  kind: AuditKind;
  detail: Record<string, unknown>;
}

/** One task that has a workflow of its own, as that workflow knows it: how far it came, and what must hold. */
export abstract class TaskLife {
  /** The step that failed last, before any undo. */
  failedStep = 'workflow';
  /**
   * Later runs are newer than earlier ones, so that an attempt that was given up does not act into the next run; an
   * undo is newer than its step.
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
   * Runs its work until it is cancelled or has taken too long.
   * @param longest a duration in the words of Temporal
   * @returns what the work returned, or why it failed; a failure that is null: it was cancelled
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

  /**
   * Retries until success, shielded from a cancel; meanwhile the record says what it waits for.
   * @param run the n-th attempt, n from 1
   */
  retryUntilDone<T>(what: string, run: (n: number) => Promise<T>): Promise<T> {
    const pauseMs = this.#pauseMs;
    const recordWaiting = (waitingFor: string | null) => this.recordChange({ waitingFor });
    return CancellationScope.nonCancellable(() => retryForever(what, run, { pauseMs, recordWaiting }));
  }
}

/** A task whose record is written with its audit trail. All writes of it go through here. */
export abstract class RecordedTask<Changes extends { state?: string } & Partial<Waiting>, Written> extends TaskLife {
  #events = 0;

  constructor(
    /** Who asked for it, where it is, and what each entry of the audit trail tells. */
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

  /** The next of the run: its id is the same in a replay. */
  protected event({ kind, detail }: TaskEntry): AuditEvent {
    const { actor, hostId, detail: common } = this.about;
    return auditEvent(this.#events++, { kind, actor, hostId, detail: { ...common, ...detail } });
  }
}

/** Steps of a task on a host, each told which `target` it is for. @param options of all, with the line that operators read */
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
export function taskUndos<T extends { sandboxId: string }>(
  life: TaskLife,
  host: HostRef,
  target: T,
  summary: string,
): Targeted<T & { generation: number }> {
  const run = (name: string, execute: (options: ActivityOptions) => Promise<unknown>) =>
    life.retryUntilDone(name, (n) => execute({ ...undoProfile(n), summary }));
  return onHost(host, run, { ...target, generation: life.generation + 1 });
}
