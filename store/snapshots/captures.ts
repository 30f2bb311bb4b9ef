import { MayflyError } from '../../model/errors.ts';
import { isCaptureId } from '../../model/ids.ts';
import { type CaptureRecord, type CaptureState, captureRecord } from '../../model/snapshots/capture.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Page } from '../sealed/page-cursor.ts';

export type CapturePage = Page<CaptureRecord>;

/** Captures, `_id` = capture id. None is ever removed. */
export class Captures extends recordRepositoryOf({
  collection: 'captures',
  noun: 'a capture',
  isId: isCaptureId,
  model: captureRecord,
  required: ['project', 'projects', 'allowedEgress'],
}) {
  /** Inserts the record of a new capture. A repeated call returns the present one. */
  async create(record: CaptureRecord): Promise<CaptureRecord> {
    if (await this.insertRecord(record)) return record;
    const present = await this.get(record.id);
    if (present?.source === record.source && present.hostId === record.hostId) return present;
    throw new MayflyError('internal', `The id ${record.id} was given to two captures.`);
  }

  /** Sets fields, each as a whole, and returns the new record. @throws MayflyError capture_not_found */
  async update(
    id: string,
    changes: Partial<Omit<CaptureRecord, 'id' | 'hostId' | 'source' | 'project'>>,
  ): Promise<CaptureRecord> {
    const changed = await this.setAndRead({ _id: this.checked(id) }, changes);
    if (!changed) throw new MayflyError('capture_not_found', `There is no capture ${id} in the store.`);
    return changed;
  }

  /** Returns one page of the captures of all sources of that name, newest first. */
  list({ source, ...query }: { source: string; limit: number; cursor?: string | undefined }): Promise<CapturePage> {
    return this.page({ source: String(source) }, query, 'createdAt');
  }

  all(states: readonly CaptureState[]): Promise<CaptureRecord[]> {
    return this.find({ state: { $in: [...states] } });
  }

  /** Returns the captures of a source name that can be cloned, newest first. */
  ready(source: string): Promise<CaptureRecord[]> {
    return this.find({ source: String(source), state: 'ready' }, { sort: { createdAt: -1, _id: -1 } });
  }
}
