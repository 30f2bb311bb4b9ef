import mongoose, { type Connection, type Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import {
  BULK_OPEN,
  BULK_STATES,
  type BulkDone,
  type BulkPage,
  type BulkRecord,
  type BulkState,
} from '../../model/functions/bulk.ts';
import { isBulkId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, NUMBER, SEALED, strictSchema, TEXT } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

type BulkDocument = Omit<BulkRecord, 'id'> & { _id: string; removeAfter?: string };

const DAY_MS = 86_400_000;

/** Actions on many runs, one document each. */
export class Bulks {
  readonly #model: Model<BulkDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('bulks');
    const mixed = { type: mongoose.Schema.Types.Mixed, required: true };
    const schema = strictSchema<BulkDocument>({
      _id: NAME,
      project: NAME,
      function: NAME,
      action: NAME,
      version: NAME,
      filter: SEALED,
      state: { type: String, required: true, enum: BULK_STATES },
      counts: mixed,
      refusals: SEALED,
      pages: NUMBER,
      place: mixed,
      page: { type: mongoose.Schema.Types.Mixed, default: undefined },
      digest: NAME,
      createdBy: { type: actorPart(), required: true },
      createdAt: NAME,
      updatedAt: NAME,
      endedAt: NULLABLE_TEXT,
      removeAfter: TEXT,
    });
    this.#model = connection.model<BulkDocument>('Bulk', schema, 'bulks');
  }

  /** @returns false: there is one of that id */
  async create({ id, ...bulk }: BulkRecord): Promise<boolean> {
    checkId(id);
    try {
      await reaching('record a bulk action', () => this.#model.create({ ...this.#fields.sealed(id, bulk), _id: id }));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async get(id: string): Promise<BulkRecord | null> {
    checkId(id);
    const found = await reaching('read a bulk action', () => this.#model.findById(id).lean<BulkDocument>());
    return found && this.#record(found);
  }

  /** Those that are not over; few. */
  async open(): Promise<BulkRecord[]> {
    const found = await reaching('read the bulk actions under way', () =>
      this.#model.find({ state: { $in: [...BULK_OPEN] } }).lean<BulkDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  /** Has it end with the page that is being worked on. @returns false: it is over, or was told before */
  async cancel(id: string, at: string): Promise<boolean> {
    return this.#change(id, { state: 'running' }, { state: 'cancelling', updatedAt: at });
  }

  /** Writes down which page is worked on next, before any of it is. @returns false: another is, or it is over */
  async begin(id: string, page: BulkPage): Promise<boolean> {
    return this.#change(id, { state: 'running', pages: page.pages, page: null }, { page });
  }

  /** Writes down that a page is done, unless it is written. */
  async advance(record: BulkRecord, page: BulkPage, { counts, refusals }: BulkDone, at: string): Promise<void> {
    const { id, counts: before } = record;
    const sum = {
      done: before.done + counts.done,
      unchanged: before.unchanged + counts.unchanged,
      refused: before.refused + counts.refused,
    };
    const all = [...record.refusals, ...refusals].slice(0, LIMITS.functions.bulk.refusals);
    const place = page.next && { place: page.next };
    const changes = { counts: sum, refusals: all, ...place, page: null, pages: page.pages + 1, updatedAt: at };
    await this.#change(id, { pages: page.pages }, changes);
  }

  async end(id: string, state: Extract<BulkState, 'succeeded' | 'cancelled'>, at: string): Promise<void> {
    const removeAfter = new Date(Date.parse(at) + LIMITS.functions.bulk.keptDays * DAY_MS).toISOString();
    await this.#change(id, { state: { $in: [...BULK_OPEN] } }, { state, endedAt: at, updatedAt: at, removeAfter });
  }

  /** @param before ISO 8601 */
  async removePast(before: string): Promise<void> {
    await reaching('remove bulk actions of the past', () =>
      this.#model.deleteMany({ removeAfter: { $gt: '', $lt: before } }),
    );
  }

  async #change(id: string, of: Record<string, unknown>, changes: Partial<BulkDocument>): Promise<boolean> {
    checkId(id);
    const { matchedCount } = await reaching('change a bulk action', () =>
      this.#model.updateOne({ _id: id, ...of }, { $set: this.#fields.sealed(id, changes) }, { runValidators: true }),
    );
    return matchedCount > 0;
  }

  #record(document: BulkDocument): BulkRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, removeAfter: _removeAfter, ...rest }: BulkDocument): BulkRecord {
  return { id: _id, ...rest };
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isBulkId(id))
    throw new MayflyError('invalid_id', 'That is not the id of a bulk action.');
}
