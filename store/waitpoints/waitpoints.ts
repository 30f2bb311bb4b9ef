import { z } from 'zod';
import { optional } from '../../model/fields.ts';
import { isWaitpointId } from '../../model/ids.ts';
import { type WaitpointRecord, waitpointRecord } from '../../model/waitpoints/waitpoint.ts';
import { byAge } from '../mongo/by-age.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';

/** What its audit is told of a completion. */
export interface Completion {
  waitpoint: WaitpointRecord;
  /** 1 is the one that was made first. */
  token: number;
}

/** Waitpoints of runs, one document each, `_id` made of run and name. One leaves `open` once. */
export class Waitpoints extends recordRepositoryOf({
  collection: 'waitpoints',
  noun: 'a waitpoint',
  isId: isWaitpointId,
  model: waitpointRecord,
  /** By which of its tokens it was completed: 1 is the one that was made first. Until the audit has it. */
  internal: { unaudited: optional(z.string()) },
}) {
  /** Makes one unless it is there. @returns it as it is */
  async ensure(record: WaitpointRecord): Promise<WaitpointRecord> {
    if (await this.insertRecord(record)) return record;
    return (await this.get(record.id)) ?? record;
  }

  /** Those of a run, the oldest first. @param unreadable takes those that cannot be read */
  async list(runId: string, unreadable?: Unreadable[]): Promise<WaitpointRecord[]> {
    return (await this.find({ runId }, { unreadable })).sort(byAge);
  }

  /**
   * Has one more token complete it.
   * @param expiresAt ISO 8601; null: as it is
   * @returns false: it is not open any more
   */
  async addToken(id: string, hash: string, expiresAt: string | null): Promise<boolean> {
    const set = expiresAt === null ? {} : { $set: { expiresAt } };
    return this.updateOne({ _id: this.checked(id), state: 'open' }, { $addToSet: { tokens: hash }, ...set });
  }

  /**
   * Its audit is told afterwards, by {@link unaudited}.
   * @param data JSON text @param token which of its tokens brought it; 1 is the one that was made first
   * @returns false: it is not open any more
   */
  async complete(id: string, data: string, completedAt: string, token: number): Promise<boolean> {
    const set = { state: 'completed', data, completedAt, unaudited: String(token) } as const;
    return this.set({ _id: this.checked(id), state: 'open' }, set);
  }

  /** Those of all runs of whose completion the audit does not know. */
  async unaudited(limit: number): Promise<Completion[]> {
    const found = await this.documents({ unaudited: { $gt: '' } }, { limit });
    return this.encryption.records(found, (each) => ({
      waitpoint: this.recordOf(each),
      token: Number(each.unaudited),
    }));
  }

  async audited(id: string): Promise<void> {
    await this.set({ _id: this.checked(id) }, {}, ['unaudited']);
  }

  /** Writes down that its time is over. @returns false: it is not open any more */
  async expire(id: string): Promise<boolean> {
    return this.set({ _id: this.checked(id), state: 'open' }, { state: 'expired' });
  }

  /** A process asks for it. */
  async asked(id: string, askedAt: string): Promise<void> {
    await this.set({ _id: this.checked(id), askedAt: null }, { askedAt });
  }

  /** All of a run. */
  async removeOf(runId: string): Promise<void> {
    await this.deleteAll({ runId });
  }
}
