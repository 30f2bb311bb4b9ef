import type { Connection, Model, Schema } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isCaptureId } from '../../model/ids.ts';
import { CAPTURE_STATES, type CaptureRecord, type CaptureState } from '../../model/snapshots/capture.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { cursorOf, positionOf } from '../mongo/page-cursor.ts';
import { NAME, NULLABLE_TEXT, NUMBER, strictPart, strictSchema, TEXT } from '../mongo/schema.ts';

type CaptureDocument = Omit<CaptureRecord, 'id'> & { _id: string };

export interface CapturePage {
  items: CaptureRecord[];
  /** Give it back to {@link Captures.list} for the next page; null on the last. */
  nextCursor: string | null;
}

const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

/** The records of captures, one document each, `_id` = capture id. None is ever removed. */
export class Captures {
  readonly #model: Model<CaptureDocument>;

  constructor(connection: Connection) {
    this.#model = connection.model<CaptureDocument>('Capture', captureSchema(), 'captures');
  }

  /** Inserts the record of a capture that begins. Repeating it answers with what is there by now. */
  async create(record: CaptureRecord): Promise<CaptureRecord> {
    checkId(record.id);
    const { id: _id, ...rest } = record;
    try {
      await reaching('record a capture', () => this.#model.create({ _id, ...rest }));
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
    return found && recordOf(found);
  }

  /** Sets the given fields, each as a whole, and answers with the new record. @throws MayflyError capture_not_found */
  async update(id: string, changes: Partial<Omit<CaptureRecord, 'id' | 'hostId' | 'source'>>): Promise<CaptureRecord> {
    checkId(id);
    const changed = await reaching('change a capture', () =>
      this.#model
        .findOneAndUpdate({ _id: id }, { $set: changes }, { returnDocument: 'after', runValidators: true })
        .lean<CaptureDocument>(),
    );
    if (!changed) throw new MayflyError('capture_not_found', `There is no capture ${id} in the store.`);
    return recordOf(changed);
  }

  /**
   * One page of the captures of all sources of that name, newest first.
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list(query: { source: string; limit: number; cursor?: string }): Promise<CapturePage> {
    const { source, limit, cursor } = query;
    const filter = { source: String(source), ...(cursor !== undefined && olderThan(cursor)) };
    const found = await reaching('list captures', () =>
      this.#model
        .find(filter)
        .sort(NEWEST_FIRST)
        .limit(limit + 1)
        .lean<CaptureDocument[]>(),
    );
    const items = found.slice(0, limit).map(recordOf);
    const last = items.at(-1);
    const isMore = found.length > limit && last;
    return { items, nextCursor: isMore ? cursorOf({ at: last.createdAt, id: last.id }) : null };
  }

  /** All that are in one of these states. */
  async all(states: readonly CaptureState[]): Promise<CaptureRecord[]> {
    const found = await reaching('read captures by state', () =>
      this.#model.find({ state: { $in: [...states] } }).lean<CaptureDocument[]>(),
    );
    return found.map(recordOf);
  }

  /** Those of the sources of that name that can be cloned, newest first. */
  async ready(source: string): Promise<CaptureRecord[]> {
    const found = await reaching('read captures', () =>
      this.#model
        .find({ source: String(source), state: 'ready' })
        .sort(NEWEST_FIRST)
        .lean<CaptureDocument[]>(),
    );
    return found.map(recordOf);
  }
}

function recordOf({ _id, ...rest }: CaptureDocument): CaptureRecord {
  return { id: _id, ...rest };
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isCaptureId(id)) throw new MayflyError('invalid_id', 'That is not a capture id.');
}

function olderThan(cursor: string): Record<string, unknown> {
  const { at, id } = positionOf(cursor, isCaptureId);
  return { createdAt: { $lte: at }, $or: [{ createdAt: { $lt: at } }, { _id: { $lt: id } }] };
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
    hostId: NAME,
    installationId: NULLABLE_TEXT,
    source: NAME,
    state: { type: String, required: true, enum: CAPTURE_STATES },
    createdBy: { type: strictPart({ apiKeyId: NAME, agentId: NULLABLE_TEXT }), required: true },
    createdAt: NAME,
    readyAt: NULLABLE_TEXT,
    saved: { type: saved, default: null },
    failure: { type: strictPart({ code: NAME, step: TEXT, message: TEXT }), default: null },
    waitingFor: NULLABLE_TEXT,
  });
}
