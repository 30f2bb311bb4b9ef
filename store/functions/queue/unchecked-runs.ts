import { beginningOf, type RunRecord } from '../../../model/functions/run.ts';
import type { FunctionRef } from '../functions.ts';
import { RunRepository } from '../run-document.ts';
import { placeOf, prefixOf } from '../run-place.ts';

/** The first of a function. */
export interface Unchecked {
  run: RunRecord;
  /** False: what is sealed of it can't be read. */
  isWhole: boolean;
}

/**
 * Runs whose events were not checked by the schema of their function when they were accepted: they wait for `check`, and are
 * not admitted before. `unchecked` is `<project>/<function>/<when>-<seq>/<id>`, of each of them, so functions take turns.
 */
export class UncheckedRuns extends RunRepository {
  /** The first of the next function that has some. @param after null: from the first */
  async next(after: FunctionRef | null): Promise<Unchecked | null> {
    const $gt = after === null ? '' : `${prefixOf(after)}0`;
    const [found] = await this.documents({ unchecked: { $gt } }, { sort: { unchecked: 1 }, limit: 1 });
    if (!found) return null;
    const opened = this.encryption.openedIfReadable(found);
    return { run: this.recordOf(opened ?? found), isWhole: opened !== null };
  }

  /** Its event fits: it goes on from where it would have begun. @param now ISO 8601 @returns that; null: it waits for no check any more */
  async fits(run: RunRecord, now: string): Promise<RunRecord | null> {
    const begun = { ...run, ...beginningOf(run, { isChecked: true, now }) };
    const { state, waitingFor } = begun;
    const waits = { _id: this.checked(run.id), state: run.state, waitingFor: 'check' };
    const set = { state, waitingFor, updatedAt: now, ...placeOf(begun) };
    return (await this.set(waits, set, ['unchecked'])) ? begun : null;
  }
}
