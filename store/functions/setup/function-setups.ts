import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../../model/errors.ts';
import {
  OPEN_SETUP_STATES,
  SETUP_STATES,
  type SetupRecord,
  type SetupState,
} from '../../../model/functions/setup/setup.ts';
import { isDuplicateKey, reaching } from '../../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, NUMBER, SEALED, strictSchema } from '../../mongo/schema.ts';
import type { SealedFields } from '../../sealed/sealed-fields.ts';
import type { Sealing } from '../../sealed/sealing.ts';

type SetupDocument = SetupRecord & {
  /** `<project>/<key>` */
  _id: string;
};
export type SetupId = Pick<SetupRecord, 'project' | 'key'>;
type Changes = Partial<Omit<SetupRecord, 'project' | 'key' | 'seed' | 'revision' | 'updatedAt'>>;

/** What is saved for functions with a setup, one document for each content. */
export class FunctionSetups {
  readonly #model: Model<SetupDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('functionSetups');
    const schema = strictSchema<SetupDocument>({
      _id: NAME,
      project: NAME,
      key: NAME,
      seed: NAME,
      state: { type: String, required: true, enum: SETUP_STATES },
      revision: NUMBER,
      wish: SEALED,
      tries: NUMBER,
      failures: NUMBER,
      snapshotId: NULLABLE_TEXT,
      snapshotKind: NULLABLE_TEXT,
      failure: SEALED,
      log: SEALED,
      waitingFor: SEALED,
      createdBy: { type: actorPart(), required: true },
      createdAt: NAME,
      updatedAt: NAME,
    });
    this.#model = connection.model<SetupDocument>('FunctionSetup', schema, 'functionSetups');
  }

  /** @returns false: there is one of that content */
  async create(record: SetupRecord): Promise<boolean> {
    const _id = idOf(record);
    try {
      await reaching('record a setup', () => this.#model.create({ ...this.#fields.sealed(_id, record), _id }));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async get(id: SetupId): Promise<SetupRecord | null> {
    const _id = idOf(id);
    const found = await reaching('read a setup', () => this.#model.findById(_id).lean<SetupDocument>());
    return found && this.#record(found);
  }

  /** Of all projects: those whose workflow has something to do. */
  open(): Promise<SetupRecord[]> {
    return this.#in(OPEN_SETUP_STATES);
  }

  /** Of all projects. */
  all(): Promise<SetupRecord[]> {
    return this.#in(SETUP_STATES);
  }

  /** @param seen as it was when that was decided @returns false: it has changed since */
  async change(seen: SetupRecord, changes: Changes): Promise<boolean> {
    const _id = idOf(seen);
    const { revision } = seen;
    const set = this.#fields.sealed(_id, { ...changes, updatedAt: new Date().toISOString(), revision: revision + 1 });
    const { matchedCount } = await reaching('change a setup', () =>
      this.#model.updateOne({ _id, revision }, { $set: set }, { runValidators: true }),
    );
    return matchedCount > 0;
  }

  /** @returns false: it has changed since */
  async remove(seen: SetupRecord): Promise<boolean> {
    const { revision } = seen;
    const { deletedCount } = await reaching('remove a setup', () =>
      this.#model.deleteOne({ _id: idOf(seen), revision }),
    );
    return deletedCount > 0;
  }

  async #in(states: readonly SetupState[]): Promise<SetupRecord[]> {
    const found = await reaching('read setups', () =>
      this.#model.find({ state: { $in: [...states] } }).lean<SetupDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  #record(document: SetupDocument): SetupRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, ...record }: SetupDocument): SetupRecord {
  return record;
}

/** @throws MayflyError invalid_id */
function idOf({ project, key }: SetupId): string {
  if (typeof key === 'string' && /^[0-9a-f]{64}$/.test(key)) return `${String(project)}/${key}`;
  throw new MayflyError('invalid_id', 'That is not the key of a setup.');
}
