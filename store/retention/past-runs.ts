import type { RunRecord } from '../../model/functions/run.ts';
import { RunRepository } from '../functions/run-document.ts';

/** Fields that decide when a run is removed: none is encrypted, so an unreadable run is removed in time too. */
export type PastRun = Pick<RunRecord, 'id' | 'cleanup' | 'dedupe' | 'epoch' | 'redriveOf'>;
const PAST = { cleanup: 1, dedupe: 1, epoch: 1, redriveOf: 1, removeAfter: 1 } as const;

/** Ended runs with completed cleanup: each gets a receipt, is retained, and then is removed. */
export class RunRetention extends RunRepository {
  /**
   * Returns runs with completed cleanup and no signed receipt, by the time since; damaged ones are omitted.
   * @param after `next` of the page before; `''`: the first page
   */
  async unsigned(after: string, limit: number): Promise<{ runs: RunRecord[]; next: string | null }> {
    const found = await this.documents({ unsigned: { $gt: after } }, { sort: { unsigned: 1 }, limit });
    return { runs: this.encryption.records(found, this.recordOf), next: found.at(-1)?.unsigned ?? null };
  }

  /** Records that the receipt is signed. */
  async signed(id: string): Promise<void> {
    await this.set({ _id: this.checked(id) }, {}, ['unsigned']);
  }

  /**
   * Returns runs whose retention has ended, by the time of that.
   * @param after time of the last of the page before; `''`: the first page @param before ISO 8601
   */
  async past(after: string, before: string, limit: number): Promise<{ run: PastRun; removeAfter: string }[]> {
    const selection = { sort: { removeAfter: 1 }, limit, only: PAST } as const;
    const found = await this.documents({ removeAfter: { $gt: after, $lt: before } }, selection);
    return found.map(({ _id: id, removeAfter = '', ...run }) => ({ run: { id, ...run }, removeAfter }));
  }

  async remove(id: string): Promise<void> {
    await this.deleteOne({ _id: this.checked(id), state: 'ended' });
  }
}
