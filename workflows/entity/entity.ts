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

/** Start of the numbers of an adopted sandbox's operations, which are the seconds since. Milliseconds since 1970. */
const FIRST_OPERATION = Date.UTC(2026, 0, 1);

/** Entity workflow of one sandbox: its state, its inbox, what is being done to it, and its end. */
export class SandboxEntity extends RecordWriter {
  readonly timeouts: Timeouts;
  /** Brief items, one at a time, also beside an operation: spec updates, claims, deadlines. */
  readonly inbox = new SerialQueue();
  /** Operation that is requested or under way. */
  operation: OperationRun | null = null;
  /** What is being done to it: then it is not idle. */
  underWay: Operation['kind'] | 'adopt' | null = null;
  /** The run is about to continue as new: messages are for the next one. */
  isClosing = false;
  /** Template that it would have woken from; null: none, as far as is known. */
  templateKey: string | null = null;

  constructor(input: SandboxInput) {
    super(input);
    this.timeouts = { ...DEFAULT_TIMEOUTS, ...input.timeouts };
  }

  /** Its cable is never in, so nobody can log in to it. */
  get isOffline(): boolean {
    return this.input.template === 'builder';
  }

  /** It ends, or has ended. */
  get isEnding(): boolean {
    const { end, record } = this.state;
    return end !== null || record.state === 'destroying' || isFinal(record.state);
  }

  /** Decides the end, which cuts short what is under way. The first reason counts. */
  terminate(end: SandboxEnd): void {
    this.state.end ??= end;
  }

  /** Runs work that the end cuts short. @returns null when it did */
  untilEnd<T>(run: () => Promise<T>): Promise<{ value: T } | null> {
    return runUntil(() => this.state.end !== null, run);
  }

  /**
   * Performs one operation, which the end cuts short. Its generation fences off the steps of those before; its own compensations
   * have the next one. Of the steps before, only the create's stay in the record.
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
    // The number of earlier operations is unknown then: at most one a second.
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

  /** Of the steps of the latest operation; 0: there was none. */
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

  /** Answers and writes what was asked, then goes on as another run. Returns when the end comes meanwhile. */
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
