import type { Connection, Model } from 'mongoose';
import type { RunRecord } from '../../model/functions/run.ts';
import { type RunDocument, recordOf } from '../functions/run-document.ts';
import { checked } from '../functions/run-id.ts';
import { reaching } from '../mongo/failure.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** Fields that decide when a run is removed: none is encrypted, so a run that cannot be read is removed in its time too. */
export type PastRun = Pick<RunRecord, 'id' | 'cleanup' | 'dedupe' | 'epoch' | 'redriveOf'>;
const PAST = { cleanup: 1, dedupe: 1, epoch: 1, redriveOf: 1, removeAfter: 1 } as const;

/** Runs of which nothing is left: each gets a receipt, is kept for its time, and then is removed. */
export class PastRuns {
  readonly #model: Model<RunDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('runs');
    this.#model = connection.model<RunDocument>('Run');
  }

  /**
   * Those of which nothing is left and no receipt is signed, by since when; what was damaged is left out.
   * @param after `next` of the page before; `''`: the first page
   */
  async unsigned(after: string, limit: number): Promise<{ runs: RunRecord[]; next: string | null }> {
    const found = await reaching('look for runs without a receipt', () =>
      this.#model
        .find({ unsigned: { $gt: after } })
        .sort({ unsigned: 1 })
        .limit(limit)
        .lean<RunDocument[]>(),
    );
    return { runs: this.#fields.records(found, recordOf), next: found.at(-1)?.unsigned ?? null };
  }

  /** Its receipt is signed. */
  async signed(id: string): Promise<void> {
    checked(id);
    await reaching('change a run', () => this.#model.updateOne({ _id: id }, { $unset: { unsigned: 1 } }));
  }

  /**
   * Those that are to be kept no longer, by when that was.
   * @param after the time of the last of the page before; `''`: the first page @param before ISO 8601
   */
  async past(after: string, before: string, limit: number): Promise<{ run: PastRun; removeAfter: string }[]> {
    const found = await reaching('look for runs of the past', () =>
      this.#model
        .find({ removeAfter: { $gt: after, $lt: before } }, PAST)
        .sort({ removeAfter: 1 })
        .limit(limit)
        .lean<(Omit<PastRun, 'id'> & Pick<RunDocument, '_id' | 'removeAfter'>)[]>(),
    );
    return found.map(({ _id: id, removeAfter = '', ...run }) => ({ run: { id, ...run }, removeAfter }));
  }

  async remove(id: string): Promise<void> {
    checked(id);
    await reaching('remove a run', () => this.#model.deleteOne({ _id: id, state: 'ended' }));
  }
}
