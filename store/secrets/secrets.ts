import type { Connection, Model } from 'mongoose';
import mongoose from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isSecretName, type SecretRecord } from '../../model/secrets/secret.ts';
import { below } from '../mongo/below.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, NULLABLE_TEXT, NUMBER, strictSchema } from '../mongo/schema.ts';

type SecretDocument = SecretRecord & {
  /** `<project>/<name>` */
  _id: string;
};
export type SecretRef = Pick<SecretRecord, 'project' | 'name'>;

/** The secrets of projects, one document each, without what they are. Who deletes one leaves its number. */
export class Secrets {
  readonly #model: Model<SecretDocument>;

  constructor(connection: Connection) {
    const schema = strictSchema<SecretDocument>({
      _id: NAME,
      project: NAME,
      name: NAME,
      version: NUMBER,
      valueId: NULLABLE_TEXT,
      notMasked: NULLABLE_TEXT,
      versions: { type: mongoose.Schema.Types.Mixed, required: true },
      createdAt: NAME,
      updatedAt: NAME,
    });
    this.#model = connection.model<SecretDocument>('Secret', schema, 'secrets');
  }

  /** Also one that is deleted, whose `valueId` is null. @throws MayflyError invalid_id */
  async get(ref: SecretRef): Promise<SecretRecord | null> {
    const _id = idOf(ref);
    const found = await reaching('read a secret', () => this.#model.findById(_id).lean<SecretDocument>());
    return found && recordOf(found);
  }

  /** Those of a project that are not deleted, by name. */
  async list(project: string): Promise<SecretRecord[]> {
    const found = await reaching('list secrets', () =>
      this.#model.find(below(project)).sort({ _id: 1 }).lean<SecretDocument[]>(),
    );
    return found.map(recordOf).filter(({ valueId }) => valueId !== null);
  }

  /** Writes one in the place of what was there. @param before null: there was none @returns false: it is another by now */
  async replace(record: SecretRecord, before: Pick<SecretRecord, 'version' | 'valueId'> | null): Promise<boolean> {
    const _id = idOf(record);
    try {
      if (!before) {
        await reaching('record a secret', () => this.#model.create({ ...record, _id }));
        return true;
      }
      const { version, valueId } = before;
      const { matchedCount } = await reaching('change a secret', () =>
        this.#model.updateOne({ _id, version, valueId }, { $set: record }, { runValidators: true }),
      );
      return matchedCount > 0;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }
}

/** @throws MayflyError invalid_id */
function idOf({ project, name }: SecretRef): string {
  if (typeof name === 'string' && isSecretName(name)) return `${String(project)}/${name}`;
  throw new MayflyError('invalid_id', 'That is not the name of a secret.');
}

function recordOf({ _id, ...record }: SecretDocument): SecretRecord {
  return record;
}
