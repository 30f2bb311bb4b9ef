import type { Connection, Model, Schema } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isSnapshotId } from '../../model/ids.ts';
import { TEMPLATE_STATES, type TemplateRecord, type TemplateState } from '../../model/templates/template.ts';
import { reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_NUMBER, NULLABLE_TEXT, NUMBER, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

type TemplateDocument = Omit<TemplateRecord, 'id'> & { _id: string };

/** The records of templates, one document each, `_id` = template id. None is ever removed. */
export class Templates {
  readonly #model: Model<TemplateDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('templates');
    this.#model = connection.model<TemplateDocument>('Template', templateSchema(), 'templates');
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<TemplateRecord | null> {
    checkId(id);
    const found = await reaching('read a template', () => this.#model.findById(id).lean<TemplateDocument>());
    return found && this.#record(found);
  }

  /** Writes all of a record, whatever the store has of it: its workflow is the only one that does. */
  async put({ id, ...rest }: TemplateRecord): Promise<void> {
    checkId(id);
    const document = { ...this.#fields.sealed(id, rest), _id: id };
    await reaching('record a template', () =>
      this.#model.replaceOne({ _id: id }, document, { upsert: true, runValidators: true }),
    );
  }

  /** All that are in one of these states, the newest first. */
  async all(states: readonly TemplateState[]): Promise<TemplateRecord[]> {
    const found = await reaching('read templates by state', () =>
      this.#model.find({ state: { $in: [...states] } }).lean<TemplateDocument[]>(),
    );
    return this.#fields.records(found, recordOf).sort((a, b) => (a.createdAt > b.createdAt ? -1 : 1));
  }

  #record(document: TemplateDocument): TemplateRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, ...rest }: TemplateDocument): TemplateRecord {
  return { id: _id, ...rest };
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isSnapshotId(id)) throw new MayflyError('invalid_id', 'That is not a template id.');
}

function templateSchema(): Schema<TemplateDocument> {
  return strictSchema<TemplateDocument>({
    _id: NAME,
    key: NAME,
    project: NAME,
    hostId: NAME,
    installationId: NULLABLE_TEXT,
    source: NAME,
    cpus: NULLABLE_NUMBER,
    memoryMib: NULLABLE_NUMBER,
    state: { type: String, required: true, enum: TEMPLATE_STATES },
    reason: SEALED,
    retryAt: NULLABLE_TEXT,
    builderId: NAME,
    probeIds: [String],
    createdBy: { type: actorPart(), required: true },
    createdAt: NAME,
    savedAt: NULLABLE_TEXT,
    readyAt: NULLABLE_TEXT,
    wakes: NUMBER,
    lastUsedAt: NULLABLE_TEXT,
    sizeBytes: NULLABLE_NUMBER,
    waitingFor: SEALED,
    updatedAt: NAME,
  });
}
