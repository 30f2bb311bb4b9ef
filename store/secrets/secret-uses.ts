import { z } from 'zod';
import { instant } from '../../model/fields.ts';
import { LIMITS } from '../../model/limits.ts';
import { idPrefixFilter } from '../mongo/below.ts';
import { repositoryOf } from '../repository/repository.ts';
import type { SecretRef } from './secrets.ts';

const secretUsed = z.object({ version: z.int(), runId: z.string(), attempt: z.int(), at: instant });
/** Version of a secret that a run was given. */
export type SecretUsed = z.infer<typeof secretUsed>;

/** Greatest time of 13 digits, in the year 2286, ms since 1970. */
const LAST_MS = 9_999_999_999_999;
const { uses: KEPT_USES } = LIMITS.functions.secrets;

/**
 * Newest uses of each secret, `_id` = `<project>/<name>/<time, descending>/<run>/<attempt>`, so the newest is the
 * first.
 */
export class SecretUses extends repositoryOf({
  collection: 'secretUses',
  noun: 'a use of a secret',
  model: secretUsed,
}) {
  /** Records a use, once, and removes those beyond the limit. */
  async add(ref: SecretRef, use: SecretUsed): Promise<void> {
    const turned = String(LAST_MS - Date.parse(use.at)).padStart(13, '0');
    await this.insert({ ...use, _id: `${nameOf(ref)}/${turned}/${use.runId}/${use.attempt}` });
    const selection = { sort: { _id: 1 }, skip: KEPT_USES, limit: 1, only: { _id: 1 } } as const;
    const [last] = await this.documents(idPrefixFilter(nameOf(ref)), selection);
    if (last) await this.deleteAll({ _id: { $gte: last._id, $lt: idPrefixFilter(nameOf(ref))._id.$lt } });
  }

  /** Lists uses, newest first. */
  list(ref: SecretRef): Promise<SecretUsed[]> {
    return this.find(idPrefixFilter(nameOf(ref)), { sort: { _id: 1 }, limit: KEPT_USES });
  }
}

function nameOf({ project, name }: SecretRef): string {
  return `${project}/${name}`;
}
