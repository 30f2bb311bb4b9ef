import { z } from 'zod';
import { optional } from '../../model/fields.ts';
import { isWaitpointId } from '../../model/ids.ts';
import { type WaitpointRecord, waitpointRecord } from '../../model/waitpoints/waitpoint.ts';
import { compareByAge } from '../mongo/by-age.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';

/** Completion of a waitpoint, for the audit. */
export interface Completion {
  waitpoint: WaitpointRecord;
  /** Number of the token used, from 1 in order of creation. */
  token: number;
}

/** Waitpoints of runs, `_id` derived from run and name. A waitpoint leaves `open` once. */
export class Waitpoints extends recordRepositoryOf({
  collection: 'waitpoints',
  noun: 'a waitpoint',
  isId: isWaitpointId,
  model: waitpointRecord,
  /** Number of the token that completed it, from 1 in order of creation; present until the audit has the completion. */
  internal: { unaudited: optional(z.string()) },
}) {
  /** Inserts a waitpoint unless it exists. @returns the present one */
  async ensure(record: WaitpointRecord): Promise<WaitpointRecord> {
    if (await this.insertRecord(record)) return record;
    return (await this.get(record.id)) ?? record;
  }

  /** Lists a run's waitpoints, oldest first. @param unreadable collects the unreadable ones */
  async list(runId: string, unreadable?: Unreadable[]): Promise<WaitpointRecord[]> {
    return (await this.find({ runId }, { unreadable })).sort(compareByAge);
  }

  /**
   * Adds a token that can complete a waitpoint.
   * @param expiresAt ISO 8601; null: unchanged
   * @returns false when it is not open
   */
  async addToken(id: string, hash: string, expiresAt: string | null): Promise<boolean> {
    const set = expiresAt === null ? {} : { $set: { expiresAt } };
    return this.updateOne({ _id: this.checked(id), state: 'open' }, { $addToSet: { tokens: hash }, ...set });
  }

  /**
   * Completes a waitpoint. Its audit is written afterwards, see {@link unaudited}.
   * @param data JSON text @param token number of the token used, from 1 in order of creation
   * @returns false when it is not open
   */
  async complete(id: string, data: string, completedAt: string, token: number): Promise<boolean> {
    const set = { state: 'completed', data, completedAt, unaudited: String(token) } as const;
    return this.set({ _id: this.checked(id), state: 'open' }, set);
  }

  /** Returns completions of all runs that the audit lacks. */
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

  /** Marks a waitpoint as expired. @returns false when it is not open */
  async expire(id: string): Promise<boolean> {
    return this.set({ _id: this.checked(id), state: 'open' }, { state: 'expired' });
  }

  /** Records the first time at which a process waits for it. */
  async asked(id: string, askedAt: string): Promise<void> {
    await this.set({ _id: this.checked(id), askedAt: null }, { askedAt });
  }

  async removeOf(runId: string): Promise<void> {
    await this.deleteAll({ runId });
  }
}
