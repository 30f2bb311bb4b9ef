import type { Connection, Model } from 'mongoose';
import { LIMITS } from '../../model/limits.ts';
import { below } from '../mongo/below.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, NUMBER, strictSchema } from '../mongo/schema.ts';
import type { SecretRef } from './secrets.ts';

/** Which run was given which version. */
export interface SecretUsed {
  version: number;
  runId: string;
  attempt: number;
  /** ISO 8601 */
  at: string;
}

type UseDocument = SecretUsed & {
  /** `<project>/<name>/<time, backwards>/<run>/<attempt>`: the newest is the first. */
  _id: string;
};

/** Times before the year 2286 have so many milliseconds. */
const LAST_MS = 9_999_999_999_999;

/** The newest uses of each secret. */
export class SecretUses {
  readonly #model: Model<UseDocument>;

  constructor(connection: Connection) {
    const schema = strictSchema<UseDocument>({ _id: NAME, version: NUMBER, runId: NAME, attempt: NUMBER, at: NAME });
    this.#model = connection.model<UseDocument>('SecretUse', schema, 'secretUses');
  }

  /** Writes one down, once; those that are not told any more go. */
  async add(ref: SecretRef, use: SecretUsed): Promise<void> {
    const turned = String(LAST_MS - Date.parse(use.at)).padStart(13, '0');
    const _id = `${nameOf(ref)}/${turned}/${use.runId}/${use.attempt}`;
    try {
      await reaching('write down the use of a secret', () => this.#model.create({ ...use, _id }));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const [last] = await reaching('look for old uses of a secret', () =>
      this.#model
        .find(below(nameOf(ref)), { _id: 1 })
        .sort({ _id: 1 })
        .skip(LIMITS.functions.secrets.uses)
        .limit(1)
        .lean<UseDocument[]>(),
    );
    if (!last) return;
    const { $lt } = below(nameOf(ref))._id;
    await reaching('forget old uses of a secret', () => this.#model.deleteMany({ _id: { $gte: last._id, $lt } }));
  }

  /** The newest first. */
  async list(ref: SecretRef): Promise<SecretUsed[]> {
    const found = await reaching('read the uses of a secret', () =>
      this.#model
        .find(below(nameOf(ref)))
        .sort({ _id: 1 })
        .limit(LIMITS.functions.secrets.uses)
        .lean<UseDocument[]>(),
    );
    return found.map(({ _id, ...use }) => use);
  }
}

function nameOf({ project, name }: SecretRef): string {
  return `${project}/${name}`;
}
