import type { Connection, Model } from 'mongoose';
import type { RunRecord } from '../../model/functions/run.ts';
import { type RunDocument, recordOf } from '../functions/run-document.ts';
import { reaching } from '../mongo/failure.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** A run, and what of it nobody was told. */
export interface UntoldRun {
  run: RunRecord;
  /** When it ended. ISO 8601; null: that was told. */
  end: string | null;
  /** When its cleanup was known. ISO 8601; null: that was told, or is not known yet. */
  cleanup: string | null;
}

/** Runs whose end or cleanup is to be told: the write that ends one says so, and the first who tells of it takes it back. */
export class UntoldRuns {
  readonly #model: Model<RunDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('runs');
    this.#model = connection.model<RunDocument>('Run');
  }

  /** Null: there is no such run. */
  async get(id: string): Promise<UntoldRun | null> {
    const found = await reaching('read a run', () => this.#model.findById(id).lean<RunDocument>());
    return found && untoldOf(this.#fields.opened(found));
  }

  /** @param before that were to be told by then, ISO 8601 */
  async find(before: string, limit: number): Promise<UntoldRun[]> {
    const by = (field: 'untoldEnd' | 'untoldCleanup') =>
      reaching('look for runs of which nobody was told', () =>
        this.#model
          .find({ [field]: { $gt: '', $lt: before } })
          .sort({ [field]: 1 })
          .limit(limit)
          .lean<RunDocument[]>(),
      );
    const found = [...(await by('untoldEnd')), ...(await by('untoldCleanup'))];
    const documents = [...new Map(found.map((each) => [each._id, each])).values()];
    return this.#fields.records(documents, untoldOf);
  }

  async told({ run: { id }, end, cleanup }: UntoldRun): Promise<void> {
    const fields = { untoldEnd: end, untoldCleanup: cleanup };
    for (const [field, at] of Object.entries(fields)) {
      if (at === null) continue;
      const seen = { _id: id, [field]: at };
      await reaching('change a run', () => this.#model.updateOne(seen, { $unset: { [field]: 1 } }));
    }
  }
}

/** @param document opened */
function untoldOf(document: RunDocument): UntoldRun {
  const { untoldEnd: end = null, untoldCleanup: cleanup = null } = document;
  return { run: recordOf(document), end, cleanup };
}
