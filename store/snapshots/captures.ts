import type { Connection, Model, Schema } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isCaptureId } from '../../model/ids.ts';
import { DEFAULT_PROJECT } from '../../model/project.ts';
import { CAPTURE_STATES, type CaptureRecord, type CaptureState } from '../../model/snapshots/capture.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, NUMBER, SEALED, strictPart, strictSchema, TEXT } from '../mongo/schema.ts';
import { olderThan, type Page, pageOf } from '../sealed/page-cursor.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

type CaptureDocument = Omit<CaptureRecord, 'id'> & { _id: string };

export type CapturePage = Page<CaptureRecord>;

const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

/** The records of captures, one document each, `_id` = capture id. None is ever removed. */
export class Captures {
  readonly #model: Model<CaptureDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('captures');
    this.#model = connection.model<CaptureDocument>('Capture', captureSchema(), 'captures');
  }

  /** Inserts the record of a capture that begins. Repeating it answers with what is there by now. */
  async create(record: CaptureRecord): Promise<CaptureRecord> {
    checkId(record.id);
    const { id: _id, ...rest } = record;
    try {
      await reaching('record a capture', () => this.#model.create(this.#fields.sealed(_id, { _id, ...rest })));
      return record;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const present = await this.get(record.id);
    if (present?.source === record.source && present.hostId === record.hostId) return present;
    throw new MayflyError('internal', `The id ${record.id} was given to two captures.`);
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<CaptureRecord | null> {
    checkId(id);
    const found = await reaching('read a capture', () => this.#model.findById(id).lean<CaptureDocument>());
    return found && this.#record(found);
  }

  /** Sets the given fields, each as a whole, and answers with the new record. @throws MayflyError capture_not_found */
  async update(
    id: string,
    changes: Partial<Omit<CaptureRecord, 'id' | 'hostId' | 'source' | 'project'>>,
  ): Promise<CaptureRecord> {
    checkId(id);
    const changed = await reaching('change a capture', () =>
      this.#model
        .findOneAndUpdate(
          { _id: id },
          { $set: this.#fields.sealed(id, changes) },
          { returnDocument: 'after', runValidators: true },
        )
        .lean<CaptureDocument>(),
    );
    if (!changed) throw new MayflyError('capture_not_found', `There is no capture ${id} in the store.`);
    return this.#record(changed);
  }

  /**
   * One page of the captures of all sources of that name, newest first.
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list(query: { source: string; limit: number; cursor?: string }): Promise<CapturePage> {
    const { source, limit, cursor } = query;
    const filter = { source: String(source), ...olderThan(cursor, 'createdAt', isCaptureId) };
    const found = await reaching('list captures', () =>
      this.#model
        .find(filter)
        .sort(NEWEST_FIRST)
        .limit(limit + 1)
        .lean<CaptureDocument[]>(),
    );
    return pageOf(this.#fields, found, { limit, at: ({ createdAt }) => createdAt, recordOf });
  }

  /** All that are in one of these states. */
  async all(states: readonly CaptureState[]): Promise<CaptureRecord[]> {
    const found = await reaching('read captures by state', () =>
      this.#model.find({ state: { $in: [...states] } }).lean<CaptureDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  /** Those of the sources of that name that can be cloned, newest first. */
  async ready(source: string): Promise<CaptureRecord[]> {
    const found = await reaching('read captures', () =>
      this.#model
        .find({ source: String(source), state: 'ready' })
        .sort(NEWEST_FIRST)
        .lean<CaptureDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  #record(document: CaptureDocument): CaptureRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** Those from before there were projects are of the first, and their clones may reach what they like. */
function recordOf({ _id, ...rest }: CaptureDocument): CaptureRecord {
  const project = rest.project ?? DEFAULT_PROJECT;
  return {
    id: _id,
    ...rest,
    project,
    projects: rest.projects ?? [project],
    allowedEgress: rest.allowedEgress ?? 'internet',
  };
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isCaptureId(id)) throw new MayflyError('invalid_id', 'That is not a capture id.');
}

function captureSchema(): Schema<CaptureDocument> {
  const disk = strictPart({ target: NAME, sha256: NAME, virtualBytes: NUMBER, storedBytes: NUMBER });
  const saved = strictPart({
    disks: [disk],
    sizeBytes: NUMBER,
    quiesced: { type: Boolean, required: true },
    capturedAt: NAME,
    parentId: NULLABLE_TEXT,
    fullBecause: NULLABLE_TEXT,
  });
  return strictSchema<CaptureDocument>({
    _id: NAME,
    project: NAME,
    projects: { type: [String], default: undefined },
    allowedEgress: TEXT,
    hostId: NAME,
    installationId: NULLABLE_TEXT,
    source: NAME,
    state: { type: String, required: true, enum: CAPTURE_STATES },
    createdBy: { type: actorPart(), required: true },
    createdAt: NAME,
    readyAt: NULLABLE_TEXT,
    saved: { type: saved, default: null },
    failure: { type: strictPart({ code: NAME, step: TEXT, message: SEALED }), default: null },
    waitingFor: SEALED,
  });
}
