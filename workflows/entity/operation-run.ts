import { Trigger } from '@temporalio/workflow';
import type { OperationOutcome } from '../../model/sagas/entity-state.ts';
import type { Operation, OperationReport } from '../../model/sagas/messages.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { refusal } from '../saga/failure.ts';

/** One operation, from its request to its end, and the callers that wait for it. */
export class OperationRun {
  /** Null: it is not over, or was refused. */
  outcome: OperationOutcome | null = null;
  /** Resolves when it is possible and its request is recorded. Rejects with why it is refused. */
  readonly accepted = new Trigger<void>();
  readonly #over = new Trigger<void>();
  #isAccepted = false;

  constructor(readonly operation: Operation) {}

  accept(): void {
    this.#isAccepted = true;
    this.accepted.resolve();
  }

  /**
   * @param failure null: it is done
   * @param error what it is refused with when it was not accepted. `@default` the failure
   */
  end(failure: SandboxFailure | null, error: unknown = failure && refusal(failure.code, failure.message)): void {
    if (this.#isAccepted) this.outcome = { operationId: this.operation.operationId, failure };
    else this.accepted.reject(error);
    this.#over.resolve();
  }

  /** @throws why it was refused */
  async report(whenOver: boolean): Promise<OperationReport> {
    if (whenOver) await this.#over;
    await this.accepted;
    return { isOver: this.outcome !== null, failure: this.outcome?.failure ?? null };
  }
}
