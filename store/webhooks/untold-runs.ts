import type { RunRecord } from '../../model/functions/run.ts';
import { type RunDocument, RunRepository } from '../functions/run-document.ts';

/** Run with unpublished events. */
export interface UnpublishedRun {
  run: RunRecord;
  /** End of the run, ISO 8601; null when published. */
  end: string | null;
  /** Time at which the cleanup was known, ISO 8601; null when published, or not known yet. */
  cleanup: string | null;
}

/**
 * Runs whose end or cleanup is unpublished: the write that ends a run sets a mark, which the first publisher removes.
 */
export class UnpublishedRuns extends RunRepository {
  /** Returns null for an unknown run. */
  async get(id: string): Promise<UnpublishedRun | null> {
    const [found] = await this.documents({ _id: id });
    return found ? this.#untoldOf(this.encryption.opened(found)) : null;
  }

  /** @param before time by which they were to be published, ISO 8601 */
  async due(before: string, limit: number): Promise<UnpublishedRun[]> {
    const by = (field: 'untoldEnd' | 'untoldCleanup') =>
      this.documents({ [field]: { $gt: '', $lt: before } }, { sort: { [field]: 1 }, limit });
    const found = [...(await by('untoldEnd')), ...(await by('untoldCleanup'))];
    const documents = [...new Map(found.map((each) => [each._id, each])).values()];
    return this.encryption.records(documents, (each) => this.#untoldOf(each));
  }

  async told({ run: { id }, end, cleanup }: UnpublishedRun): Promise<void> {
    const fields = { untoldEnd: end, untoldCleanup: cleanup };
    for (const [field, at] of Object.entries(fields)) {
      if (at === null) continue;
      await this.updateOne({ _id: id, [field]: at }, { $unset: { [field]: 1 } });
    }
  }

  /** @param document decrypted */
  #untoldOf(document: RunDocument): UnpublishedRun {
    const { untoldEnd: end = null, untoldCleanup: cleanup = null } = document;
    return { run: this.recordOf(document), end, cleanup };
  }
}
