import { condition, isCancellation } from '@temporalio/workflow';
import type { OperationOutcome } from '../../model/sagas/continued-life.ts';
import type { Operation, OperationReport } from '../../model/sagas/messages.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { causeOf, endedMeanwhile, failureOf, refusal } from '../saga/failure.ts';
import type { Life } from './life.ts';

/** One operation, from the request for it to its end, and those who wait for it. */
export class OperationRun<O extends Operation = Operation> {
  #failure: SandboxFailure | null = null;
  #refusedWith: unknown = null;
  #isAccepted = false;
  #isOver = false;

  constructor(
    readonly operation: O,
    private readonly life: Life,
  ) {}

  /** It can be done, and it is recorded that it was asked for. */
  accept(): void {
    this.#isAccepted = true;
  }

  /** @param error why it failed; what was not accepted is refused with it */
  end(error?: unknown): void {
    const { life } = this;
    const ended = endedMeanwhile(life);
    if (!this.#isAccepted)
      this.#refusedWith = isCancellation(error) ? refusal(ended.code, ended.message) : causeOf(error);
    else if (error !== undefined) this.#failure = isCancellation(error) ? ended : failureOf(error, life.failedStep);
    this.#isOver = true;
  }

  /** How it ended; null when it was refused. */
  get outcome(): OperationOutcome | null {
    return this.#isAccepted ? { operationId: this.operation.operationId, failure: this.#failure } : null;
  }

  /** @throws why it was refused */
  async whenAccepted(): Promise<OperationReport> {
    await condition(() => this.#isAccepted || this.#isOver);
    return this.#report();
  }

  /** @throws why it was refused */
  async whenOver(): Promise<OperationReport> {
    await condition(() => this.#isOver);
    return this.#report();
  }

  #report(): OperationReport {
    if (!this.#isAccepted) throw this.#refusedWith;
    return { isOver: this.#isOver, failure: this.#failure };
  }
}
