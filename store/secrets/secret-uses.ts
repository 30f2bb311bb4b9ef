import type { Connection } from 'mongoose';
import { LIMITS } from '../../model/limits.ts';
import { below } from '../mongo/below.ts';
import { NAME, NUMBER } from '../mongo/schema.ts';
import { Repository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';
import type { SecretRef } from './secrets.ts';

/** Which run was given which version. */
export interface SecretUsed {
  version: number;
  runId: string;
  attempt: number;
  /** ISO 8601 */
  at: string;
}

/** Times before the year 2286 have so many milliseconds. */
const LAST_MS = 9_999_999_999_999;
const { uses: KEPT_USES } = LIMITS.functions.secrets;

/** The newest uses of each secret, `_id` = `<project>/<name>/<time, backwards>/<run>/<attempt>`: the newest is the first. */
export class SecretUses extends Repository<SecretUsed> {
  constructor(connection: Connection, sealing: Sealing) {
    const fields = { version: NUMBER, runId: NAME, attempt: NUMBER, at: NAME };
    super(connection, sealing, { collection: 'secretUses', noun: 'a use of a secret', fields });
  }

  /** Writes one down, once; those that are not told any more go. */
  async add(ref: SecretRef, use: SecretUsed): Promise<void> {
    const turned = String(LAST_MS - Date.parse(use.at)).padStart(13, '0');
    await this.insert({ ...use, _id: `${nameOf(ref)}/${turned}/${use.runId}/${use.attempt}` });
    const selection = { sort: { _id: 1 }, skip: KEPT_USES, limit: 1, only: { _id: 1 } } as const;
    const [last] = await this.documents(below(nameOf(ref)), selection);
    if (last) await this.deleteAll({ _id: { $gte: last._id, $lt: below(nameOf(ref))._id.$lt } });
  }

  /** The newest first. */
  list(ref: SecretRef): Promise<SecretUsed[]> {
    return this.find(below(nameOf(ref)), { sort: { _id: 1 }, limit: KEPT_USES });
  }
}

function nameOf({ project, name }: SecretRef): string {
  return `${project}/${name}`;
}
