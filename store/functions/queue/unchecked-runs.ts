import type { Connection, Model } from 'mongoose';
import { beginningOf, type RunRecord } from '../../../model/functions/run.ts';
import { reaching } from '../../mongo/failure.ts';
import type { SealedFields } from '../../sealed/sealed-fields.ts';
import type { Sealing } from '../../sealed/sealing.ts';
import type { FunctionRef } from '../functions.ts';
import { type RunDocument, recordOf } from '../run-document.ts';
import { checked } from '../run-id.ts';
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
export class UncheckedRuns {
  readonly #model: Model<RunDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('runs');
    this.#model = connection.model<RunDocument>('Run');
  }

  /** The first of the next function that has some. @param after null: from the first */
  async next(after: FunctionRef | null): Promise<Unchecked | null> {
    const $gt = after === null ? '' : `${prefixOf(after)}0`;
    const [found] = await reaching('look for an event to check', () =>
      this.#model.find({ unchecked: { $gt } }).sort({ unchecked: 1 }).limit(1).lean<RunDocument[]>(),
    );
    if (!found) return null;
    const opened = this.#fields.openedIfReadable(found);
    return { run: recordOf(opened ?? found), isWhole: opened !== null };
  }

  /** Its event fits: it goes on from where it would have begun. @param now ISO 8601 @returns that; null: it waits for no check any more */
  async fits(run: RunRecord, now: string): Promise<RunRecord | null> {
    const begun = { ...run, ...beginningOf(run, { isChecked: true, now }) };
    const { state, waitingFor } = begun;
    const { matchedCount } = await reaching('write down that an event fits', () =>
      this.#model.updateOne(
        { _id: checked(run.id), state: run.state, waitingFor: 'check' },
        { $set: { state, waitingFor, updatedAt: now, ...placeOf(begun) }, $unset: { unchecked: 1 } },
        { runValidators: true },
      ),
    );
    return matchedCount > 0 ? begun : null;
  }
}
