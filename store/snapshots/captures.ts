import { MayflyError } from '../../model/errors.ts';
import { isCaptureId } from '../../model/ids.ts';
import { type CaptureRecord, type CaptureState, captureRecord } from '../../model/snapshots/capture.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Page } from '../sealed/page-cursor.ts';

export type CapturePage = Page<CaptureRecord>;

/** The records of captures, one document each, `_id` = capture id. None is ever removed. */
export class Captures extends recordRepositoryOf({
  collection: 'captures',
  noun: 'a capture',
  isId: isCaptureId,
  model: captureRecord,
  required: ['project', 'projects', 'allowedEgress'],
}) {
  /** Inserts the record of a capture that begins. Repeating it answers with what is there by now. */
  async create(record: CaptureRecord): Promise<CaptureRecord> {
    if (await this.insertRecord(record)) return record;
    const present = await this.get(record.id);
    if (present?.source === record.source && present.hostId === record.hostId) return present;
    throw new MayflyError('internal', `The id ${record.id} was given to two captures.`);
  }

  /** Sets the given fields, each as a whole, and answers with the new record. @throws MayflyError capture_not_found */
  async update(
    id: string,
    changes: Partial<Omit<CaptureRecord, 'id' | 'hostId' | 'source' | 'project'>>,
  ): Promise<CaptureRecord> {
    const changed = await this.setAndRead({ _id: this.checked(id) }, changes);
    if (!changed) throw new MayflyError('capture_not_found', `There is no capture ${id} in the store.`);
    return changed;
  }

  /** One page of the captures of all sources of that name, newest first. */
  list({ source, ...query }: { source: string; limit: number; cursor?: string | undefined }): Promise<CapturePage> {
    return this.page({ source: String(source) }, query, 'createdAt');
  }

  /** All that are in one of these states. */
  all(states: readonly CaptureState[]): Promise<CaptureRecord[]> {
    return this.find({ state: { $in: [...states] } });
  }

  /** Those of the sources of that name that can be cloned, newest first. */
  ready(source: string): Promise<CaptureRecord[]> {
    return this.find({ source: String(source), state: 'ready' }, { sort: { createdAt: -1, _id: -1 } });
  }
}
