import { allHandlersFinished, condition, continueAsNew } from '@temporalio/workflow';
import type { SandboxEnd } from '../../model/sagas/entity-state.ts';
import type { Operation, SandboxInput } from '../../model/sagas/messages.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { DEFAULT_TIMEOUTS, type Timeouts } from '../../model/sandbox/timeouts.ts';
import { runUntil } from '../saga/cancellation.ts';
import { runContinues } from '../saga/continue-as-new.ts';
import { refusal } from '../saga/failure.ts';
import { SerialQueue } from '../saga/serial-queue.ts';
import type { OperationRun } from './operation-run.ts';
import { RecordWriter } from './record-writer.ts';

/** Epoch of an adopted sandbox's generation numbers, which count seconds. Milliseconds since 1970. */
const FIRST_OPERATION = Date.UTC(2026, 0, 1);

/** Entity workflow of one sandbox: its state, inbox, current operation, and end. */
export class SandboxEntity extends RecordWriter {
  readonly timeouts: Timeouts;
  /** Queue of brief items, run one at a time, even during an operation: spec updates, claims, deadlines. */
  readonly inbox = new SerialQueue();
  /** Operation that is requested or under way. */
  operation: OperationRun | null = null;
  /** Kind of the operation under way, during which the sandbox is not idle. */
  underWay: Operation['kind'] | 'adopt' | null = null;
  /** True when the run is about to continue as new: messages are for the next run. */
  isClosing = false;
  /** Key of the template it would have woken from; null when unknown. */
  templateKey: string | null = null;

  constructor(input: SandboxInput) {
    super(input);
    this.timeouts = { ...DEFAULT_TIMEOUTS, ...input.timeouts };
  }

  /** True when its network link is always down, so no login is possible. */
  get isOffline(): boolean {
    return this.input.template === 'builder';
  }

  /** True when the sandbox is ending or has ended. */
  get isEnding(): boolean {
    const { end, record } = this.state;
    return end !== null || record.state === 'destroying' || isFinal(record.state);
  }

  /** Sets the end, which cancels work in progress. The first reason wins. */
  terminate(end: SandboxEnd): void {
    this.state.end ??= end;
  }

  /** Runs work until the sandbox's end. @returns null when the end cut it short */
  untilEnd<T>(run: () => Promise<T>): Promise<{ value: T } | null> {
    return runUntil(() => this.state.end !== null, run);
  }

  /**
   * Performs one operation, which the end cuts short. Its generation fences off steps of earlier operations; its own
   * compensations use the next generation. Of earlier steps, only the create's stay in the record.
   * @returns null when the end cut it short
   */
  async perform<T>(
    kind: Operation['kind'] | 'adopt',
    run: (generation: number) => Promise<T>,
  ): Promise<{ value: T } | null> {
    const { state } = this;
    state.createSteps ??= state.steps;
    state.steps = state.createSteps;
    this.failedStep = 'workflow';
    // The number of earlier operations is unknown after an adoption: at most one a second.
    state.operations ||= this.begins === 'takeOver' ? Math.floor((Date.now() - FIRST_OPERATION) / 1_000) : 0;
    state.operations++;
    this.underWay = kind;
    try {
      return await this.untilEnd(() => run(this.generation));
    } finally {
      this.underWay = null;
      state.usedAt = Date.now();
    }
  }

  /** Generation of the latest operation's steps; 0 when there was none. */
  get generation(): number {
    return 2 * this.state.operations;
  }

  /** @throws ApplicationFailure run_continues */
  checkOpen(): void {
    if (this.isClosing) throw runContinues();
  }

  /** @throws ApplicationFailure sandbox_ended */
  checkLiving(): void {
    if (this.isEnding) throw refusal('sandbox_ended', `${this.id} is ending or has ended.`);
  }

  /** Answers and writes pending requests, then continues as new. Returns when the sandbox's end arrives first. */
  async continueAsNew(): Promise<void> {
    const { end } = this.state;
    this.isClosing = true;
    await this.inbox.drain();
    await condition(allHandlersFinished);
    await this.writes.drain();
    if (this.state.end === end) {
      return continueAsNew<(input: SandboxInput) => Promise<unknown>>({ ...this.input, continued: this.state });
    }
    this.isClosing = false;
  }
}
