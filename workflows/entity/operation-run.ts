import { Trigger } from '@temporalio/workflow';
import type { OperationOutcome } from '../../model/sagas/entity-state.ts';
import type { Operation, OperationReport } from '../../model/sagas/messages.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { refusal } from '../saga/failure.ts';

/** Operation from its request to its end, and the callers that wait for it. */
export class OperationRun {
  /** Result; null while it runs, and when it was refused. */
  outcome: OperationOutcome | null = null;
  /** Resolves when the operation is possible and its request recorded. Rejects with the refusal. */
  readonly accepted = new Trigger<void>();
  readonly #over = new Trigger<void>();
  #isAccepted = false;

  constructor(readonly operation: Operation) {}

  accept(): void {
    this.#isAccepted = true;
    this.accepted.resolve();
  }

  /**
   * Ends the operation.
   * @param failure null: it succeeded
   * @param error rejection when it was not accepted. `@default` the failure
   */
  end(failure: SandboxFailure | null, error: unknown = failure && refusal(failure.code, failure.message)): void {
    if (this.#isAccepted) this.outcome = { operationId: this.operation.operationId, failure };
    else this.accepted.reject(error);
    this.#over.resolve();
  }

  /** @throws the refusal */
  async report(whenOver: boolean): Promise<OperationReport> {
    if (whenOver) await this.#over;
    await this.accepted;
    return { isOver: this.outcome !== null, failure: this.outcome?.failure ?? null };
  }
}
