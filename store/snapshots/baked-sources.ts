import type { Connection, Model, Schema } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isSourceId } from '../../model/ids.ts';
import { DEFAULT_PROJECT } from '../../model/project.ts';
import { BAKED_SOURCE_STATES, type BakedSource, type BakedSourceState } from '../../model/snapshots/baked-source.ts';
import { reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, NUMBER, SEALED, strictPart, strictSchema, TEXT } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

type BakedDocument = Omit<BakedSource, 'id'> & { _id: string };

/** Sources that were made of snapshots, `_id` = source id. Each is written by the workflows of its name only. */
export class BakedSources {
  readonly #model: Model<BakedDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('bakedSources');
    this.#model = connection.model<BakedDocument>('BakedSource', bakedSchema(), 'bakedSources');
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<BakedSource | null> {
    checkId(id);
    const found = await reaching('read a baked source', () => this.#model.findById(id).lean<BakedDocument>());
    return found && this.#record(found);
  }

  /** All that were ever made under that name, by host. */
  async named(name: string): Promise<BakedSource[]> {
    const found = await reaching('read baked sources', () =>
      this.#model.find({ name: String(name) }).lean<BakedDocument[]>(),
    );
    return this.#fields.records(found, recordOf).sort((a, b) => (a.hostId < b.hostId ? -1 : 1));
  }

  /** All that were made of one snapshot, or were to be. */
  async ofSnapshot(snapshotId: string): Promise<BakedSource[]> {
    const found = await reaching('read the baked sources of a snapshot', () =>
      this.#model.find({ snapshotId: String(snapshotId) }).lean<BakedDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  /** All that are in one of these states. */
  async all(states: readonly BakedSourceState[]): Promise<BakedSource[]> {
    const found = await reaching('read baked sources by state', () =>
      this.#model.find({ state: { $in: [...states] } }).lean<BakedDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  /** Takes the place of an earlier record of that id. */
  async begin({ id, ...fields }: BakedSource): Promise<void> {
    checkId(id);
    await reaching('record a bake', () =>
      this.#model.findOneAndUpdate(
        { _id: id },
        { $set: this.#fields.sealed(id, fields) },
        { upsert: true, runValidators: true },
      ),
    );
  }

  /** Sets the given fields, and answers with the new record. @throws MayflyError source_not_found */
  async update(id: string, changes: Partial<Omit<BakedSource, 'id' | 'hostId' | 'name'>>): Promise<BakedSource> {
    checkId(id);
    const changed = await reaching('change a baked source', () =>
      this.#model
        .findOneAndUpdate(
          { _id: id },
          { $set: this.#fields.sealed(id, changes) },
          { returnDocument: 'after', runValidators: true },
        )
        .lean<BakedDocument>(),
    );
    if (changed) return this.#record(changed);
    throw new MayflyError('source_not_found', `There is no baked source ${id} in the store.`);
  }

  #record(document: BakedDocument): BakedSource {
    return recordOf(this.#fields.opened(document));
  }
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isSourceId(id)) throw new MayflyError('invalid_id', 'That is not a source id.');
}

function recordOf({ _id, ...rest }: BakedDocument): BakedSource {
  return { id: _id, ...rest, project: rest.project ?? DEFAULT_PROJECT };
}

function bakedSchema(): Schema<BakedDocument> {
  const disk = strictPart({ target: NAME, sha256: NAME, virtualBytes: NUMBER, storedBytes: NUMBER });
  return strictSchema<BakedDocument>({
    _id: NAME,
    project: NAME,
    hostId: NAME,
    installationId: NULLABLE_TEXT,
    name: NAME,
    state: { type: String, required: true, enum: BAKED_SOURCE_STATES },
    bakeId: NAME,
    snapshotId: NAME,
    sandboxId: NAME,
    builderId: NAME,
    createdBy: { type: actorPart(), required: true },
    createdAt: NAME,
    readyAt: NULLABLE_TEXT,
    image: { type: strictPart({ disks: [disk], sizeBytes: NUMBER }), default: null },
    failure: { type: strictPart({ code: NAME, step: TEXT, message: SEALED }), default: null },
    waitingFor: SEALED,
    updatedAt: NAME,
  });
}
