import { instant, optional } from '../../model/fields.ts';
import {
  BULK_OPEN,
  type BulkPage,
  type BulkProgress,
  type BulkRecord,
  type BulkState,
  bulkRecord,
} from '../../model/functions/bulk.ts';
import { isBulkId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { recordRepositoryOf } from '../repository/repository.ts';

type Changes = Partial<BulkRecord> & { removeAfter?: string };

const DAY_MS = 86_400_000;

/** Actions on many runs, one document each. */
export class Bulks extends recordRepositoryOf({
  collection: 'bulks',
  noun: 'a bulk action',
  isId: isBulkId,
  model: bulkRecord,
  internal: { removeAfter: optional(instant) },
}) {
  /** @returns false when that id exists */
  async create(bulk: BulkRecord): Promise<boolean> {
    return this.insertRecord(bulk);
  }

  /** Returns the unfinished bulk actions; they are few. */
  open(): Promise<BulkRecord[]> {
    return this.find({ state: { $in: [...BULK_OPEN] } });
  }

  /** Cancels a bulk action, which ends after its current page. @returns false when it is not running */
  async cancel(id: string, at: string): Promise<boolean> {
    return this.#change(id, { state: 'running' }, { state: 'cancelling', updatedAt: at });
  }

  /**
   * Records the next page, before any of it is processed. @returns false when another page is recorded, or it is not
   * running
   */
  async begin(id: string, page: BulkPage): Promise<boolean> {
    return this.#change(id, { state: 'running', pages: page.pages, page: null }, { page });
  }

  /** Records that a page is done. Idempotent. */
  async advance(record: BulkRecord, page: BulkPage, { counts, refusals }: BulkProgress, at: string): Promise<void> {
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
    await this.deleteAll({ removeAfter: { $gt: '', $lt: before } });
  }

  async #change(id: string, of: Partial<Record<keyof BulkRecord, unknown>>, changes: Changes) {
    return this.set({ _id: this.checked(id), ...of }, changes);
  }
}
