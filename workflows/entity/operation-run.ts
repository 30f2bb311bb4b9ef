import { condition } from '@temporalio/workflow';
import type { OperationOutcome } from '../../model/sagas/entity-state.ts';
import type { Operation, OperationReport } from '../../model/sagas/messages.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { refusal } from '../saga/failure.ts';

/** One operation, from its request to its end, and the callers that wait for it. */
export class OperationRun<O extends Operation = Operation> {
  /** Null: it is not over, or was refused. */
  outcome: OperationOutcome | null = null;
  #refusal: unknown = null;
  #isAccepted = false;

  constructor(readonly operation: O) {}

  /** It can be done, and its request is recorded. */
  accept(): void {
    this.#isAccepted = true;
  }

  /**
   * @param failure null: it is done
   * @param error what it is refused with when it was not accepted. `@default` the failure
   */
  end(failure: SandboxFailure | null, error: unknown = failure && refusal(failure.code, failure.message)): void {
    if (this.#isAccepted) this.outcome = { operationId: this.operation.operationId, failure };
    else this.#refusal = error;
  }

  /** @throws why it was refused */
  whenAccepted(): Promise<OperationReport> {
    return this.#when(() => this.#isAccepted);
  }

  /** @throws why it was refused */
  whenOver(): Promise<OperationReport> {
    return this.#when(() => false);
  }

  async #when(isReady: () => boolean): Promise<OperationReport> {
    await condition(() => isReady() || this.outcome !== null || this.#refusal !== null);
    if (this.#refusal !== null) throw this.#refusal;
    return { isOver: this.outcome !== null, failure: this.outcome?.failure ?? null };
  }
}
