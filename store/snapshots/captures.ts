import type { Connection } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isCaptureId } from '../../model/ids.ts';
import { CAPTURE_STATES, type CaptureRecord, type CaptureState } from '../../model/snapshots/capture.ts';
import { actorPart, ENCRYPTED_TEXT, NAME, NULLABLE_TEXT, NUMBER, strictPart, TEXT } from '../mongo/schema.ts';
import { RecordRepository } from '../repository/repository.ts';
import type { Page } from '../sealed/page-cursor.ts';
import type { Sealing } from '../sealed/sealing.ts';

export type CapturePage = Page<CaptureRecord>;

/** The records of captures, one document each, `_id` = capture id. None is ever removed. */
export class Captures extends RecordRepository<CaptureRecord> {
  constructor(connection: Connection, sealing: Sealing) {
    const required = ['project', 'projects', 'allowedEgress'];
    const fields = captureFields();
    super(connection, sealing, { collection: 'captures', noun: 'a capture', isId: isCaptureId, fields, required });
  }

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
  list({ source, ...query }: { source: string; limit: number; cursor?: string }): Promise<CapturePage> {
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

function captureFields() {
  const disk = strictPart({ target: NAME, sha256: NAME, virtualBytes: NUMBER, storedBytes: NUMBER });
  const saved = strictPart({
    disks: [disk],
    sizeBytes: NUMBER,
    quiesced: { type: Boolean, required: true },
    capturedAt: NAME,
    parentId: NULLABLE_TEXT,
    fullBecause: NULLABLE_TEXT,
  });
  return {
    project: NAME,
    projects: { type: [String], required: true },
    allowedEgress: NAME,
    hostId: NAME,
    installationId: NAME,
    source: NAME,
    state: { type: String, required: true, enum: CAPTURE_STATES },
    createdBy: { type: actorPart(), required: true },
    createdAt: NAME,
    readyAt: NULLABLE_TEXT,
    saved: { type: saved, default: null },
    failure: { type: strictPart({ code: NAME, step: TEXT, message: ENCRYPTED_TEXT }), default: null },
    waitingFor: ENCRYPTED_TEXT,
  };
}
