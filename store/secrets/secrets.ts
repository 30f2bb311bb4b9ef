import { MayflyError } from '../../model/errors.ts';
import { isSecretName, type SecretRecord, secretRecord } from '../../model/secrets/secret.ts';
import { below } from '../mongo/below.ts';
import { repositoryOf } from '../repository/repository.ts';

export type SecretRef = Pick<SecretRecord, 'project' | 'name'>;

/** The secrets of projects, `_id` = `<project>/<name>`, without what they are. Who deletes one leaves its number. */
export class Secrets extends repositoryOf({ collection: 'secrets', noun: 'a secret', model: secretRecord }) {
  /** Also one that is deleted, whose `valueId` is null. @throws MayflyError invalid_id */
  async get(ref: SecretRef): Promise<SecretRecord | null> {
    return this.findById(idOf(ref));
  }

  /** Those of a project that are not deleted, by name. */
  async list(project: string): Promise<SecretRecord[]> {
    return (await this.find(below(project), { sort: { _id: 1 } })).filter(({ valueId }) => valueId !== null);
  }

  /** Writes one in the place of what was there. @param before null: there was none @returns false: it is another by now */
  async replace(record: SecretRecord, before: Pick<SecretRecord, 'version' | 'valueId'> | null): Promise<boolean> {
    const _id = idOf(record);
    if (!before) return this.insert({ ...record, _id });
    return this.set({ _id, version: before.version, valueId: before.valueId }, record);
  }
}

/** @throws MayflyError invalid_id */
function idOf({ project, name }: SecretRef): string {
  if (typeof name === 'string' && isSecretName(name)) return `${String(project)}/${name}`;
  throw new MayflyError('invalid_id', 'That is not the name of a secret.');
}
