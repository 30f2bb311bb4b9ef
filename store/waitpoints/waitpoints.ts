import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isWaitpointId } from '../../model/ids.ts';
import { WAITPOINT_STATES, type WaitpointRecord } from '../../model/waitpoints/waitpoint.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, SEALED, strictSchema, TEXT } from '../mongo/schema.ts';
import type { SealedFields, Unreadable } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

type WaitpointDocument = Omit<WaitpointRecord, 'id'> & {
  _id: string;
  /** By which of its tokens it was completed: 1 is the one that was made first. Until the audit has it. */
  unaudited?: string;
};

/** What its audit is told of a completion. */
export interface Completion {
  waitpoint: WaitpointRecord;
  /** 1 is the one that was made first. */
  token: number;
}

/** Waitpoints of runs, one document each, `_id` made of run and name. One leaves `open` once. */
export class Waitpoints {
  readonly #model: Model<WaitpointDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('waitpoints');
    const schema = strictSchema<WaitpointDocument>({
      _id: NAME,
      project: NAME,
      runId: NAME,
      name: NAME,
      state: { type: String, required: true, enum: WAITPOINT_STATES },
      tokens: [String],
      expiresAt: NAME,
      askedAt: NULLABLE_TEXT,
      data: SEALED,
      completedAt: NULLABLE_TEXT,
      createdBy: { type: actorPart(), default: null },
      createdAt: NAME,
      unaudited: TEXT,
    });
    this.#model = connection.model<WaitpointDocument>('Waitpoint', schema, 'waitpoints');
  }

  /** Makes one unless it is there. @returns it as it is */
  async ensure({ id, ...rest }: WaitpointRecord): Promise<WaitpointRecord> {
    checkId(id);
    try {
      await reaching('record a waitpoint', () => this.#model.create({ ...this.#fields.sealed(id, rest), _id: id }));
      return { id, ...rest };
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    return (await this.get(id)) ?? { id, ...rest };
  }

  async get(id: string): Promise<WaitpointRecord | null> {
    checkId(id);
    const found = await reaching('read a waitpoint', () => this.#model.findById(id).lean<WaitpointDocument>());
    return found && this.#record(found);
  }

  /** Those of a run, the oldest first. @param unreadable takes those that cannot be read */
  async list(runId: string, unreadable?: Unreadable[]): Promise<WaitpointRecord[]> {
    const found = await reaching('list waitpoints', () => this.#model.find({ runId }).lean<WaitpointDocument[]>());
    const order = (each: WaitpointRecord) => `${each.createdAt} ${each.id}`;
    return this.#fields.records(found, recordOf, unreadable).sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }

  /**
   * Has one more token complete it.
   * @param expiresAt ISO 8601; null: as it is
   * @returns false: it is not open any more
   */
  async addToken(id: string, hash: string, expiresAt: string | null): Promise<boolean> {
    const set = expiresAt === null ? {} : { $set: { expiresAt } };
    return this.#change(id, { state: 'open' }, { $addToSet: { tokens: hash }, ...set });
  }

  /**
   * Its audit is told afterwards, by {@link unaudited}.
   * @param data JSON text @param token which of its tokens brought it; 1 is the one that was made first
   * @returns false: it is not open any more
   */
  async complete(id: string, data: string, completedAt: string, token: number): Promise<boolean> {
    const set = this.#fields.sealed(id, { state: 'completed', data, completedAt, unaudited: String(token) });
    return this.#change(id, { state: 'open' }, { $set: set });
  }

  /** Those of all runs of whose completion the audit does not know. */
  async unaudited(limit: number): Promise<Completion[]> {
    const found = await reaching('look for completed waitpoints', () =>
      this.#model
        .find({ unaudited: { $gt: '' } })
        .limit(limit)
        .lean<WaitpointDocument[]>(),
    );
    return this.#fields.records(found, (each) => ({ waitpoint: recordOf(each), token: Number(each.unaudited) }));
  }

  async audited(id: string): Promise<void> {
    await this.#change(id, {}, { $unset: { unaudited: 1 } });
  }

  /** Writes down that its time is over. @returns false: it is not open any more */
  async expire(id: string): Promise<boolean> {
    return this.#change(id, { state: 'open' }, { $set: { state: 'expired' } });
  }

  /** A process asks for it. */
  async asked(id: string, askedAt: string): Promise<void> {
    await this.#change(id, { askedAt: null }, { $set: { askedAt } });
  }

  /** All of a run. */
  async removeOf(runId: string): Promise<void> {
    await reaching('remove the waitpoints of a run', () => this.#model.deleteMany({ runId }));
  }

  async #change(id: string, filter: object, update: object): Promise<boolean> {
    checkId(id);
    const { matchedCount } = await reaching('change a waitpoint', () =>
      this.#model.updateOne({ _id: id, ...filter }, update, { runValidators: true }),
    );
    return matchedCount > 0;
  }

  #record(document: WaitpointDocument): WaitpointRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, unaudited: _unaudited, ...waitpoint }: WaitpointDocument): WaitpointRecord {
  return { id: _id, ...waitpoint };
}

/** @throws MayflyError invalid_id */
function checkId(id: string): void {
  if (typeof id !== 'string' || !isWaitpointId(id)) throw new MayflyError('invalid_id', 'That is no waitpoint id.');
}
