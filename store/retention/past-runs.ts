import type { RunRecord } from '../../model/functions/run.ts';
import { RunRepository } from '../functions/run-document.ts';

/** Fields that decide when a run is removed: none is encrypted, so a run that cannot be read is removed in its time too. */
export type PastRun = Pick<RunRecord, 'id' | 'cleanup' | 'dedupe' | 'epoch' | 'redriveOf'>;
const PAST = { cleanup: 1, dedupe: 1, epoch: 1, redriveOf: 1, removeAfter: 1 } as const;

/** Runs of which nothing is left: each gets a receipt, is kept for its time, and then is removed. */
export class PastRuns extends RunRepository {
  /**
   * Those of which nothing is left and no receipt is signed, by since when; what was damaged is left out.
   * @param after `next` of the page before; `''`: the first page
   */
  async unsigned(after: string, limit: number): Promise<{ runs: RunRecord[]; next: string | null }> {
    const found = await this.documents({ unsigned: { $gt: after } }, { sort: { unsigned: 1 }, limit });
    return { runs: this.encryption.records(found, this.recordOf), next: found.at(-1)?.unsigned ?? null };
  }

  /** Its receipt is signed. */
  async signed(id: string): Promise<void> {
    await this.set({ _id: this.checked(id) }, {}, ['unsigned']);
  }

  /**
   * Those that are to be kept no longer, by when that was.
   * @param after the time of the last of the page before; `''`: the first page @param before ISO 8601
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
