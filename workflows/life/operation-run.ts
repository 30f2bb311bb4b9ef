import { condition, isCancellation } from '@temporalio/workflow';
import type { Operation, OperationReport } from '../../model/sagas/messages.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { endedMeanwhile, failureOf, refusal } from '../saga/failure.ts';
import type { Life } from './life.ts';

/** One operation, from the request for it to its end, and those who wait for it. */
export class OperationRun<O extends Operation = Operation> {
  /** The snapshot that is taken, or kept. */
  snapshot: SnapshotRecord | null = null;
  private failure: SandboxFailure | null = null;
  private refusedWith: unknown = null;
  private isAccepted = false;
  private isOver = false;

  constructor(
    readonly operation: O,
    private readonly life: Life,
  ) {}

  /** It can be done, and it is recorded that it was asked for. */
  accept(): void {
    this.isAccepted = true;
  }

  /** @param err why it failed; what was not accepted is refused with it */
  end(err?: unknown): void {
    const { life } = this;
    const ended = endedMeanwhile(life);
    if (!this.isAccepted) this.refusedWith = isCancellation(err) ? refusal(ended.code, ended.message) : err;
    else if (err !== undefined) this.failure = isCancellation(err) ? ended : failureOf(err, life.failedStep);
    this.isOver = true;
  }

  /** @throws why it was refused */
  async whenAccepted(): Promise<OperationReport> {
    await condition(() => this.isAccepted || this.isOver);
    return this.report();
  }

  /** @throws why it was refused */
  async whenOver(): Promise<OperationReport> {
    await condition(() => this.isOver);
    return this.report();
  }

  private report(): OperationReport {
    if (!this.isAccepted) throw this.refusedWith;
    const { isOver, snapshot, failure } = this;
    return { isOver, sandbox: this.life.record, snapshot, failure };
  }
}
