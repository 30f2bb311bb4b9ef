import { getInitialState, type RunRecord } from '../../../model/functions/run.ts';
import type { FunctionRef } from '../functions.ts';
import { RunRepository } from '../run-document.ts';
import { getQueueFields, prefixOf } from '../run-place.ts';

/** First unchecked run of a function. */
export interface Unchecked {
  run: RunRecord;
  /** False when its encrypted fields cannot be read. */
  isWhole: boolean;
}

/**
 * Runs accepted without validation by the schema of their function: they wait for `check`, and are not admitted before.
 * `unchecked` of each is `<project>/<function>/<when>-<seq>/<id>`, so functions take turns.
 */
export class UnvalidatedRuns extends RunRepository {
  /** Returns the first unchecked run of the next function. @param after null: from the first */
  async next(after: FunctionRef | null): Promise<Unchecked | null> {
    const $gt = after === null ? '' : `${prefixOf(after)}0`;
    const [found] = await this.documents({ unchecked: { $gt } }, { sort: { unchecked: 1 }, limit: 1 });
    if (!found) return null;
    const opened = this.encryption.openedIfReadable(found);
    return { run: this.recordOf(opened ?? found), isWhole: opened !== null };
  }

  /**
   * Records that the event is valid, and moves the run to its first state. @param now ISO 8601 @returns the run; null
   * when it does not await a check
   */
  async fits(run: RunRecord, now: string): Promise<RunRecord | null> {
    const begun = { ...run, ...getInitialState(run, { isChecked: true, now }) };
    const { state, waitingFor } = begun;
    const waits = { _id: this.checked(run.id), state: run.state, waitingFor: 'check' };
    const set = { state, waitingFor, updatedAt: now, ...getQueueFields(begun) };
    return (await this.set(waits, set, ['unchecked'])) ? begun : null;
  }
}
